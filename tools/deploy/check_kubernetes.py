"""Checks what no schema says of the objects that kustomize made of deploy/kubernetes; tools/check_deploy calls it.

Arguments: a file with all objects.
"""
import sys

import yaml


def check(objects):
    by_kind = {}
    for one in objects:
        by_kind.setdefault(one["kind"], {})[one["metadata"]["name"]] = one
    settings = next(one["data"] for name, one in by_kind["ConfigMap"].items() if name.startswith("counter-settings-"))
    deployment = by_kind["Deployment"]["counter"]["spec"]
    job = by_kind["Job"]["counter-migrate"]["spec"]
    pod = deployment["template"]["spec"]
    server = pod["containers"][0]

    # A drain that is cut off is no drain.
    pause = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    if pod["terminationGracePeriodSeconds"] < pause + int(settings["DRAIN_SECONDS"]) + 5:
        yield "terminationGracePeriodSeconds is below the pause, DRAIN_SECONDS and 5 s together"
    # A probe of liveness that asks for the stores restarts every server because PostgreSQL restarts.
    for probe, service in (("startupProbe", None), ("livenessProbe", "liveness"), ("readinessProbe", "calls")):
        if server[probe]["grpc"].get("service") != service:
            yield "%s does not ask health for %s" % (probe, service)
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    if server["livenessProbe"]["grpc"]["port"] != ports["grpc"]:
        yield "the probes do not ask the gRPC port"

    labels = deployment["template"]["metadata"]["labels"]
    for kind, name, selector in (
            [("Service", name, one["spec"]["selector"]) for name, one in by_kind["Service"].items()] +
            [("Deployment", "counter", deployment["selector"]["matchLabels"])] +
            [("PodDisruptionBudget", name, one["spec"]["selector"]["matchLabels"])
             for name, one in by_kind["PodDisruptionBudget"].items()]):
        if not selector.items() <= labels.items():
            yield "%s %s selects %s, which the servers do not have" % (kind, name, selector)
    chosen = by_kind["NetworkPolicy"]["counter"]["spec"]["podSelector"]["matchExpressions"][0]
    for template in (deployment["template"], job["template"]):
        if template["metadata"]["labels"][chosen["key"]] not in chosen["values"]:
            yield "the network policy does not cover %s" % template["metadata"]["labels"]
    if by_kind["Service"]["counter"]["spec"]["clusterIP"] != "None":
        yield "the service for gRPC is not headless: all calls of a connection would go to one server"
    for name, one in by_kind["Service"].items():
        for port in one["spec"]["ports"]:
            if port["targetPort"] not in ports:
                yield "service %s: no port %s" % (name, port["targetPort"])
    target = by_kind["HorizontalPodAutoscaler"]["counter"]["spec"]["scaleTargetRef"]
    if target["name"] not in by_kind[target["kind"]]:
        yield "the autoscaler is for %s, which is not there" % target
    if "replicas" in deployment:
        yield "the deployment says how many replicas, against the autoscaler"

    for where, spec in (("counter", pod), ("counter-migrate", job["template"]["spec"])):
        if not spec["securityContext"].get("runAsNonRoot") or spec.get("automountServiceAccountToken") is not False:
            yield "%s: runs as root, or may talk to the API" % where
        for container in spec["containers"]:
            security = container["securityContext"]
            if (not security["readOnlyRootFilesystem"] or security["allowPrivilegeEscalation"] or
                    security["capabilities"]["drop"] != ["ALL"]):
                yield "%s: %s has rights that it does not need" % (where, container["name"])
            if "memory" not in container["resources"]["limits"] or "cpu" not in container["resources"]["requests"]:
                yield "%s: %s has no limit of memory or asks for no processor" % (where, container["name"])
            if container["image"].endswith(":latest") or ":" not in container["image"]:
                yield "%s: %s has no release" % (where, container["image"])
    # The serving account's secret, and the owner's, stay apart.
    for where, spec, secret in (("counter", pod, "counter-stores"),
                                ("counter-migrate", job["template"]["spec"], "counter-migrate")):
        names = [source["secretRef"]["name"] for source in spec["containers"][0]["envFrom"] if "secretRef" in source]
        if names != [secret]:
            yield "%s has the secrets %s" % (where, names)


with open(sys.argv[1]) as file:
    faults = list(check([one for one in yaml.safe_load_all(file) if one]))
print("\n".join(faults))
sys.exit(1 if faults else 0)
