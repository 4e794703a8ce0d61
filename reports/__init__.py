"""Reports: an audit in, a file for people or machines out."""
