"""What mkdocs.yml names: hooks of MkDocs and an extension of Griffe."""
