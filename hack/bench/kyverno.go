// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

const kyvernoNamespace = "kyverno"

// startKyverno installs Kyverno's kinds and settings, starts its admission controller with those arguments of its
// manifest that aren't its defaults, and has it judge the Pods of one namespace by the CEL expressions.
func startKyverno(ctx context.Context, c *cluster, here, program, work string) (*child, error) {
	if err := installKyverno(ctx, c, here); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	const secret = "kyverno-svc.kyverno.svc.kyverno-tls-"
	const account = "system:serviceaccount:" + kyvernoNamespace + ":kyverno-"
	controller, err := startChild(ctx, "Kyverno's admission controller", filepath.Join(work, "kyverno.log"), []string{
		"INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics", "KYVERNO_NAMESPACE=" + kyvernoNamespace,
		"KYVERNO_POD_NAME=kyverno", "KYVERNO_DEPLOYMENT=kyverno-admission-controller", "KYVERNO_SVC=kyverno-svc",
		"KYVERNO_SERVICEACCOUNT_NAME=kyverno-admission-controller", "KYVERNO_ROLE_NAME=kyverno:admission-controller",
		"TUF_ROOT=" + filepath.Join(work, "sigstore"),
		"GOMEMLIMIT=345MiB", // in a container it sets nine tenths of its limit, which is 384 MiB in its manifest
	}, []string{program, "--kubeconfig=" + c.Kubeconfig, fmt.Sprintf("--serverIP=127.0.0.1:%d", ports[0]),
		"--webhookServerHost=127.0.0.1", fmt.Sprintf("--webhookServerPort=%d", ports[0]),
		"--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", ports[1]), "--controllerRuntimeMetricsAddress=0",
		"--caSecretName=" + secret + "ca", "--tlsSecretName=" + secret + "pair",
		"--backgroundServiceAccountName=" + account + "background-controller",
		"--reportsServiceAccountName=" + account + "reports-controller", "--maxAdmissionReports=1000",
		"--omitEvents=PolicyApplied,PolicySkipped", "--v=2"})
	if err != nil {
		return nil, err
	}
	if err := controller.awaitReady(ctx, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, nil, "get", "validatingwebhookconfiguration",
			"kyverno-resource-validating-webhook-cfg")
		return err
	}); err != nil {
		return nil, err
	}
	return controller, bindToKyverno(ctx, c)
}

// installKyverno installs what the manifest in Kyverno's module has, but for what runs it.
func installKyverno(ctx context.Context, c *cluster, here string) error {
	released, err := manifestOf(ctx, filepath.Join(here, "kyverno"), "github.com/kyverno/kyverno", "config",
		"install-latest-testing.yaml")
	if err != nil {
		return err
	}
	if _, err := c.kubectl(ctx, nil, "create", "namespace", kyvernoNamespace); err != nil {
		return err
	}
	kinds := ofKinds(released, "CustomResourceDefinition", "ConfigMap", "ServiceAccount")
	if _, err := c.kubectl(ctx, kinds, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	return c.established(ctx)
}

// bindToKyverno makes a ValidatingPolicy of each CEL expression, for one namespace.
func bindToKyverno(ctx context.Context, c *cluster) error {
	expressions, err := filesOf(expressionRules, "pairs", ".cel")
	if err != nil {
		return err
	}
	var objects []map[string]any
	for name, expression := range expressions {
		constraints := onPods()
		constraints["namespaceSelector"] = onlyNamespace(ofKyverno)
		objects = append(objects, map[string]any{"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy",
			"metadata": map[string]any{"name": "bench-" + name}, "spec": map[string]any{"failurePolicy": "Ignore",
				"validationActions": []any{"Deny"}, "matchConstraints": constraints,
				"autogen":     map[string]any{"podControllers": map[string]any{"controllers": []any{}}},
				"validations": validation(name, expression)}})
	}
	return c.apply(ctx, objects...)
}

// onPods has an expression judge Pods that are made or changed.
func onPods() map[string]any {
	return map[string]any{"resourceRules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"},
		"operations": []any{"CREATE", "UPDATE"}, "resources": []any{"pods"}}}}
}

// validation is an expression that must be true, or its name is the message.
func validation(name, expression string) []any {
	return []any{map[string]any{"expression": strings.TrimSpace(expression), "message": name}}
}
