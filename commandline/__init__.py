"""What every command line of the product shares, and how files and texts of users are read and quoted.

A command: ``run`` gives it its exit code and one line per problem, and prints results, lists and progress;
``arguments`` are types of its arguments with their bounds, ``files`` writes a file whole or leaves it as it was.
What users hand in: ``yaml_text`` reads YAML safely, ``faults`` says in words of ours what pydantic found wrong,
``foreign_text`` puts a text of somebody else into a sentence so that neither a terminal nor a page obeys it. The
packages below the pages use these three as well; nothing here imports another package of the product.
"""
