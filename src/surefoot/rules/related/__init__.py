"""The systems that the paper names, one file each, with their theorems."""
