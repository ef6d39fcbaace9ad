"""What stands in front of several instances of one server: nginx, or LiteLLM, with a weight for each by capacity."""

from collections.abc import Iterator, Mapping
from typing import Any

from sharing.manifests import compose
from sharing.manifests.facts import ManifestFacts
from sharing.manifests.pods import PORT
from sharing.manifests.targets import File, ManifestTarget, TargetReason, TextFile, Yaml
from sizing.base.choices import Routing
from sizing.queueing.balancing import balanced

LISTENS = 8080
"""Port of the proxy. Chosen: instances have those from 8000."""

NGINX_METHODS: Mapping[Routing, str] = {
    "least_loaded": "least_conn",
    "random": "random",
    "session_affinity": "hash $http_x_session_id consistent",
    "prefix_aware": "least_conn",
}
"""What nginx calls the planned routing; in turn, by weight, it goes unasked (ngx_http_upstream_module). It knows no
prefixes; sessions name themselves in the header ``X-Session-Id``."""

LITELLM_METHODS: Mapping[Routing, str] = {"least_loaded": "least-busy", "prefix_aware": "least-busy"}
"""What LiteLLM calls it; a weighted pick, simple-shuffle, unless asked (docs.litellm.ai, router)."""

LITELLM_SESSIONS = {"optional_pre_call_checks": ["session_affinity"]}
"""Keeps a session, named in the header ``x-litellm-session-id``, with its deployment (litellm 1.98 and newer)."""

API = {"openvino": "/v3"}
"""Where the OpenAI-compatible interface is, if not under ``/v1``."""


def refuses(facts: ManifestFacts) -> TargetReason | None:
    """Plans that Compose expresses, with several instances."""
    return compose.refuses(facts) or (TargetReason.ONE_INSTANCE if facts.groups[0].instances == 1 else None)


def files(facts: ManifestFacts) -> Mapping[str, File]:
    """The configuration of either, for services named as in ``compose.yaml``."""
    (group,) = facts.groups
    weights = balanced([group.max_rps] * group.instances).weights
    return {"nginx.conf": TextFile(nginx(facts, weights)), "litellm.yaml": Yaml((litellm(facts, weights),))}


def _instances(facts: ManifestFacts, weights: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    return ((f"{facts.name}-{i}:{PORT}", weight) for i, weight in enumerate(weights))


def nginx(facts: ManifestFacts, weights: tuple[int, ...]) -> str:
    """An upstream of all instances; tokens are passed on as they come."""
    method = NGINX_METHODS.get(facts.scenario.deployment.routing)
    lines = [f"        {method};"] if method else []
    lines += [f"        server {address} weight={weight};" for address, weight in _instances(facts, weights)]
    servers = "\n".join(lines)
    return f"""# A weight is the load that an instance gets beside the others, by capacity; as planned all are alike.
events {{}}
http {{
    upstream instances {{
{servers}
    }}
    server {{
        listen {LISTENS};
        location / {{
            proxy_pass http://instances;
            proxy_http_version 1.1;
            proxy_buffering off;
            proxy_read_timeout 3600s;
        }}
    }}
}}
"""


def litellm(facts: ManifestFacts, weights: tuple[int, ...]) -> dict[str, Any]:
    """LiteLLM's configuration: each instance is a deployment of one model, with its weight."""
    served, path = facts.checkpoint.served_as, API.get(facts.engine.id, "/v1")
    deployments = [
        {
            "model_name": served,
            "litellm_params": {
                "model": f"openai/{served}",
                "api_base": f"http://{address}{path}",
                "api_key": "none",
                "weight": weight,
            },
        }
        for address, weight in _instances(facts, weights)
    ]
    method = LITELLM_METHODS.get(facts.scenario.deployment.routing, "simple-shuffle")
    sessions = LITELLM_SESSIONS if facts.scenario.deployment.routing == "session_affinity" else {}
    return {"model_list": deployments, "router_settings": {"routing_strategy": method} | sessions}


TARGET = ManifestTarget("balancer", refuses, files)
