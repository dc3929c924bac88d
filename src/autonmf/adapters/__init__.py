"""`AutoNMF` in the idiom of other libraries, each imported only when it is used."""
