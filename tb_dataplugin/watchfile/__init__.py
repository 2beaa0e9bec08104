"""What `annotate.watch` wrote of whole runs: `lines` of its files, `reading` files to runs, `summary` what they say."""
