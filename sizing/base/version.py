"""Version of the engine; part of every answer."""

ENGINE_VERSION = "0.1.0"
