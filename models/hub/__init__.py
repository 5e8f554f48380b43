"""Downloads from the Hugging Face Hub, and their remains."""
