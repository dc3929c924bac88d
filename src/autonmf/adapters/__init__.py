"""`AutoNMF` for AnnData, xarray and text pipelines; each library is imported only when it is used."""
