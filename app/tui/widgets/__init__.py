"""One widget per file. Widgets show values they are given; screens decide."""
