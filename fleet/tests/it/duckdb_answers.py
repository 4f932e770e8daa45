"""Answers a question about a folder of tables with DuckDB, as JSON: a list of rows.

Arguments: the folder, the question's file, and NAME=VALUE for each of its parameters.
"""

import json
import pathlib
import sys

import duckdb

folder, question, *values = sys.argv[1:]
tables = "recordings sites stacks frames samples site_samples memory findings environment predictions".split()
connection = duckdb.connect()
for table in tables:
    files = f"read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning = false)"
    connection.execute(f"create view {table} as select * from {files}").fetchall()
text = pathlib.Path(question).read_text()
result = connection.execute(text, dict(value.split("=", 1) for value in values))
names = [column[0] for column in result.description]
print(json.dumps([dict(zip(names, row)) for row in result.fetchall()], default=str))
