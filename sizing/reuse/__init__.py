"""What a prefix cache holds of prompts: of traces by the hashes of their blocks, of sessions as they are stated."""
