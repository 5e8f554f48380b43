"""Chat templates and special tokens of model families: what matters of them for calls and thoughts.

From the published templates, without their instructions: how tools, earlier calls, thoughts and results are
written, what is refused, and how an answer begins.
"""

# ruff: noqa: E501

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

Make = Callable[[str], "TokenizerWrapper"]
CHATML = ("<|im_end|>", "<|im_start|>")
_TOOLS = "{% if tools %}{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}"
_LAST_QUERY = """{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"""
_REASONING = """{%- set reasoning = '' %}{%- set content = m.content %}
{%- if m.reasoning_content is string %}{%- set reasoning = m.reasoning_content %}
{%- elif '</think>' in content %}
  {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
  {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}"""

QWEN3 = (
    "<|im_start|>system\n" + _TOOLS + "<tool_call>\n{\"name\": <function-name>}\n</tool_call><|im_end|>\n"
    + _LAST_QUERY + """
{%- for m in messages %}
{%- if m.role in ('user', 'system') %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- elif m.role == 'assistant' %}""" + _REASONING + """
  {%- if loop.index0 > ns.last and (loop.last or reasoning) %}
    {{- '<|im_start|>assistant\\n<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
  {%- else %}{{- '<|im_start|>assistant\\n' + content }}{%- endif %}
  {%- for tool_call in m.tool_calls or [] %}
    {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{% endif %}
    {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
    {{- '<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
    {%- if tool_call.arguments is string %}{{- tool_call.arguments }}
    {%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
    {{- '}\\n</tool_call>' }}
  {%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif m.role == 'tool' %}
  {%- if loop.first or (messages[loop.index0 - 1].role != 'tool') %}{{- '<|im_start|>user' }}{%- endif %}
  {{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
  {%- if loop.last or (messages[loop.index0 + 1].role != 'tool') %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""
)  # fmt: skip
_XML_CALLS = """{%- for call in m.tool_calls or [] %}{%- set call = call.function %}
    {{- ('\\n\\n' if loop.first and content.strip() else '' if loop.first else '\\n') }}
    {{- '<tool_call>\\n<function=' + call.name + '>\\n' }}
    {%- for k, v in call.arguments | items %}
      {{- '<parameter=' + k + '>\\n' }}
      {{- v if v is string else v | tojson }}{{- '\\n</parameter>\\n' }}
    {%- endfor %}{{- '</function>\\n</tool_call>' }}
  {%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif m.role == 'tool' %}
  {%- if messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user\\n' }}{%- endif %}
  {{- '<tool_response>\\n' + m.content + '\\n</tool_response>\\n' }}
  {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- endif %}{%- endfor %}
"""
QWEN35 = (
    "<|im_start|>system\n" + _TOOLS + "<tool_call>\n<function=example>\n</function>\n</tool_call><|im_end|>\n"
    + _LAST_QUERY + """
{%- for m in messages %}
{%- if m.role == 'system' and not loop.first %}{{ raise_exception('System message must be at the beginning.') }}
{%- elif m.role in ('user', 'system') %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}
{%- elif m.role == 'assistant' %}""" + _REASONING + """
  {%- if loop.index0 > ns.last %}
    {{- '<|im_start|>assistant\\n<think>\\n' + reasoning.strip() + '\\n</think>\\n\\n' + content.strip() }}
  {%- else %}{{- '<|im_start|>assistant\\n' + content.strip() }}{%- endif %}
  """ + _XML_CALLS + """{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}
{%- else %}{{- '<think>\\n' }}{%- endif %}{%- endif %}"""
)  # fmt: skip
GPT_OSS = """<|start|>system<|message|>You are ChatGPT.<|end|>
{%- if messages[0].role == 'system' %}{% set instructions = messages[0].content %}{% set messages = messages[1:] %}{% endif %}
{{- '<|start|>developer<|message|>' + (instructions or '') }}
{%- for tool in tools or [] %}{{- '// ' + tool.function.description + '\\ntype ' + tool.function.name }}{%- endfor %}
{{- '<|end|>' }}
{%- set last = namespace(name=none) %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
  {%- if "<|channel|>analysis<|message|>" in message.content or "<|channel|>final<|message|>" in message.content %}
    {{- raise_exception("You have passed a message containing <|channel|> tags in the content field.") }}
  {%- endif %}
  {%- if 'tool_calls' in message %}
    {%- set future = namespace(found=false) %}
    {%- for one in messages[loop.index:] %}
      {%- if one.role == 'assistant' and 'tool_calls' not in one %}{% set future.found = true %}{% endif %}
    {%- endfor %}
    {%- set call = message.tool_calls[0].function %}
    {%- if message.content and message.thinking %}{{- raise_exception('Cannot pass both content and thinking') }}
    {%- elif message.content and not future.found %}
      {{- '<|start|>assistant<|channel|>analysis<|message|>' + message.content + '<|end|>' }}
    {%- elif message.thinking and not future.found %}
      {{- '<|start|>assistant<|channel|>analysis<|message|>' + message.thinking + '<|end|>' }}
    {%- endif %}
    {{- '<|start|>assistant to=functions.' + call.name + '<|channel|>commentary json<|message|>' }}
    {{- call.arguments | tojson }}{{- '<|call|>' }}
    {%- set last.name = call.name %}
  {%- else %}
    {{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}{% set last.name = none %}
  {%- endif %}
{%- elif message.role == 'tool' %}
  {%- if last.name is none %}{{- raise_exception('no previous assistant message with a tool call') }}{%- endif %}
  {{- '<|start|>functions.' + last.name + ' to=assistant<|channel|>commentary<|message|>' }}
  {{- message.content | tojson }}{{- '<|end|>' }}
{%- elif message.role == 'user' %}{{- '<|start|>user<|message|>' + message.content + '<|end|>' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}<|start|>assistant{%- endif %}"""
MISTRAL = """{{- bos_token }}
{%- if messages[0].role == 'system' %}{{- '[SYSTEM_PROMPT]' + messages[0].content + '[/SYSTEM_PROMPT]' }}
{%- set messages = messages[1:] %}{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for m in messages %}
{%- if not (m.role == 'tool' or m.tool_calls) %}
  {%- if (m.role == 'user') != (ns.index % 2 == 0) %}
    {{- raise_exception('conversation roles must alternate user/assistant/user/assistant/...') }}
  {%- endif %}{%- set ns.index = ns.index + 1 %}
{%- endif %}{%- endfor %}
{%- for m in messages %}
{%- if m.role == 'user' %}{{- '[INST]' + m.content + '[/INST]' }}
{%- elif m.tool_calls %}{{- m.content }}
  {%- for call in m.tool_calls %}
    {%- if call.id is not defined or call.id | length != 9 %}
      {{- raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}
    {%- endif %}
    {{- '[TOOL_CALLS]' + call.function.name + '[CALL_ID]' + call.id + '[ARGS]' + call.function.arguments | tojson }}
  {%- endfor %}{{- eos_token }}
{%- elif m.role == 'assistant' %}{{- m.content + eos_token }}
{%- elif m.role == 'tool' %}{{- '[TOOL_RESULTS]' + m.tool_call_id + '[TOOL_CONTENT]' + m.content + '[/TOOL_RESULTS]' }}
{%- else %}{{- raise_exception('Only user, assistant and tool roles') }}{%- endif %}{%- endfor %}"""
LLAMA3 = """{{- '<|start_header_id|>system<|end_header_id|>\\n\\nEnvironment: ipython' }}
{{- 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.' }}
{%- for t in tools or [] %}{{- t | tojson(indent=4) }}{%- endfor %}{{- '<|eot_id|>' }}
{%- for message in messages %}
{%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
  {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- elif 'tool_calls' in message %}
  {%- if not message.tool_calls | length == 1 %}
    {{- raise_exception('This model only supports single tool-calls at once!') }}
  {%- endif %}
  {%- set tool_call = message.tool_calls[0].function %}
  {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + tool_call.name + '", "parameters": ' }}
  {{- tool_call.arguments | tojson }}{{- '}<|eot_id|>' }}
{%- else %}
  {{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' + message.content | tojson + '<|eot_id|>' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}"""
GLM = (
    "[gMASK]<sop><|system|>\n"
    + _TOOLS
    + _LAST_QUERY
    + """
{%- for m in messages %}
{%- if m.role == 'user' %}{{- '<|user|>\\n' + m.content }}
{%- elif m.role == 'system' %}{{- '<|system|>\\n' + m.content }}
{%- elif m.role == 'assistant' %}"""
    + _REASONING
    + """
  {{- '<|assistant|>\\n<think>' + (reasoning.strip() if loop.index0 > ns.last else '') + '</think>' }}
  {%- if content.strip() %}{{- '\\n' + content.strip() }}{%- endif %}
  {%- for tc in m.tool_calls or [] %}{%- set tc = tc.function %}
    {{- '\\n<tool_call>' + tc.name + '\\n' }}
    {%- for k, v in tc.arguments.items() %}
      {{- '<arg_key>' + k + '</arg_key>\\n<arg_value>' }}
      {{- v if v is string else v | tojson }}{{- '</arg_value>\\n' }}
    {%- endfor %}{{- '</tool_call>' }}
  {%- endfor %}
{%- elif m.role == 'tool' %}
  {%- if messages[loop.index0 - 1].role != 'tool' %}{{- '<|observation|>' }}{%- endif %}
  {{- '\\n<tool_response>\\n' + m.content + '\\n</tool_response>' }}
{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"""
)
GEMMA4 = """{{- bos_token }}{%- for m in messages %}
{%- if m.role == 'assistant' %}{{- '<|turn>model\\n' }}
  {%- set thought = m.get('reasoning') or m.get('reasoning_content') %}
  {%- if thought and m.get('tool_calls') %}{{- '<|channel>thought\\n' + thought + '\\n<channel|>' }}{%- endif %}
  {%- for call in m.tool_calls or [] %}
    {{- '<|tool_call>call:' + call.function.name + '{' }}
    {%- for k, v in call.function.arguments | dictsort %}
      {{- k + ':' }}{{- '<|"|>' + v + '<|"|>' if v is string else v | tojson }}{{- ',' if not loop.last }}
    {%- endfor %}{{- '}<tool_call|>' }}
  {%- endfor %}{{- m.content }}{{- '<turn|>\\n' if not m.tool_calls }}
{%- elif m.role == 'tool' %}{{- '<|tool_response>response:f{value:<|"|>' + m.content + '<|"|>}<tool_response|>' }}
{%- else %}{{- '<|turn>' + m.role + '\\n' + m.content + '<turn|>\\n' }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}{{- '<|turn>model\\n' }}{%- endif %}"""
PLAIN = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
KIMI = PLAIN + "{# <|tool_calls_section_begin|> #}"
MINIMAX = (
    PLAIN + "{# <minimax:tool_call> #}{% if add_generation_prompt %}{{ ']~b]ai\\n<think>\\n' }}{% endif %}"
)
LFM2 = PLAIN + "{# <|tool_call_start|> #}"
SMOLLM3 = PLAIN + "<tool_call>{{ 'XML tags' }}</tool_call>"
NEMOTRON = PLAIN + "<TOOLCALL>[]</TOOLCALL>"
MAGISTRAL = PLAIN + "{# [THINK] [/THINK] [TOOL_CALLS] #}"

FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "qwen3": (QWEN3, (*CHATML, "<think>", "</think>", "<tool_call>", "</tool_call>")),
    "qwen3.5": (QWEN35, (*CHATML, "<think>", "</think>", "<tool_call>", "</tool_call>")),
    "gpt-oss": (
        GPT_OSS, ("<|return|>", "<|call|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>"),
    ),
    "mistral": (MISTRAL, ("</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[TOOL_RESULTS]")),
    "llama3": (LLAMA3, ("<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>")),
    "glm": (GLM, ("<|user|>", "<|observation|>", "<|assistant|>", "<think>", "</think>", "<tool_call>", "</tool_call>")),
    "gemma4": (GEMMA4, ("<turn|>", "<|turn>", "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>')),
    "kimi-k2": (KIMI, ("<|im_end|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")),
    "minimax-m2": (MINIMAX, ("[e~[", "<think>", "</think>", "<minimax:tool_call>", "</minimax:tool_call>")),
    "lfm2": (LFM2, ("<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>")),
    "smollm3": (SMOLLM3, ("<|im_end|>", "<think>", "</think>")),
    "nemotron": (NEMOTRON, ("<SPECIAL_12>",)),
    "magistral": (MAGISTRAL, ("</s>", "[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]")),
}  # fmt: skip
"""By family: its template and its special tokens, the one that ends an answer first."""
