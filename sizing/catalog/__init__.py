"""What can be bought and run: models, accelerators, servers, cloud instances and prices, with source and date.

Everything returned is immutable and read once per process from the files in ``sizing/data``.
"""

from sizing.catalog.checkpoints import Checkpoint, checkpoints
from sizing.catalog.config_json import model_from_config
from sizing.catalog.facts import (
    ApiPrice,
    PublishedLeadTime,
    QuantizationFact,
    StreetPrice,
    TcoFact,
    UseCase,
    api_prices,
    lead_times,
    quantization,
    street_prices,
    tco,
    use_cases,
)
from sizing.catalog.files import data_date, data_version
from sizing.catalog.from_size import model_from_size
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_names import resolve_gpu
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.model import Model
from sizing.catalog.model_rows import models
from sizing.catalog.resolve import ResolvedModel, resolve_model
from sizing.catalog.system import CloudInstance, ServerHost, System
from sizing.catalog.system_rows import (
    cloud_fabrics,
    cloud_instances,
    generic_system,
    host_for,
    resolve_system,
    server_hosts,
    systems,
    systems_for,
)
