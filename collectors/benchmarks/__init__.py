"""Import of the user's own benchmarks: result files of the common tools as points with one set of words and units."""

from collectors.benchmarks.files import curves, read_benchmarks
from collectors.benchmarks.measurements import MeasuredSystem, to_measurements
from collectors.benchmarks.reader import engine_of_tool, files_of_tools, read_benchmark
from collectors.benchmarks.records import BenchmarkRun, Imported, LatencyStats, RowError
from collectors.errors import BenchmarkFileError, NotAResultFile
