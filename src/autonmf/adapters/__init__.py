"""`AutoNMF` for AnnData, xarray and text pipelines; each library is imported when it is used."""
