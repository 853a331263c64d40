// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The namespaces of the cluster in which Pods are made, one for each admission. A rule allows the class of priority of
// the Pods in those whose names begin so.
const (
	ofNobody       = "pay-nobody"
	ofEvenkeel     = "pay-evenkeel"
	ofGatekeeper   = "pay-gatekeeper"
	ofExpressions  = "pay-expressions"
	ofEvenkeelFive = "pay-evenkeel-five"
	ofKyverno      = "pay-kyverno"
)

const evenkeelNamespace = "evenkeel-system"

// prepareCluster makes what Pods need in each of the namespaces.
func prepareCluster(ctx context.Context, c *cluster) error {
	var objects []map[string]any
	for _, name := range []string{"high", "system"} {
		objects = append(objects, map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
			"metadata": map[string]any{"name": name}, "value": 1000})
	}
	for _, name := range []string{ofNobody, ofEvenkeel, ofGatekeeper, ofExpressions, ofEvenkeelFive, ofKyverno} {
		objects = append(objects,
			map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}},
			map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
				"metadata": map[string]any{"name": "web", "namespace": name}})
	}
	return c.apply(ctx, objects...)
}

// startEvenkeel installs Evenkeel as its manifests do, starts its manager with its ServiceAccount's permissions, and
// applies what migrate makes of files of ConstraintTemplates and constraints.
func startEvenkeel(ctx context.Context, c *cluster, root, program, work string, rules ...string) (*child, error) {
	kubeconfig := filepath.Join(work, "evenkeel.kubeconfig")
	if err := installEvenkeel(ctx, c, root, kubeconfig); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	manager, err := startChild(ctx, "Evenkeel's manager", filepath.Join(work, "evenkeel.log"), deployed(), []string{
		program, "manager", "--kubeconfig", kubeconfig, "--namespace", evenkeelNamespace, "--leader-elect=false",
		"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", ports[0]),
		fmt.Sprintf("--webhook-url=https://localhost:%d", ports[0]), "--webhook-client-ca-file", c.WebhookClientCA,
		"--cert-dir", filepath.Join(work, "certificates"), "--source-dir", filepath.Join(work, "sources"),
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]), "--metrics-bind-address=0",
		"--exempt-namespaces=" + strings.Join([]string{"kube-system", "kube-node-lease", ofNobody, ofGatekeeper,
			ofExpressions, ofKyverno, kyvernoNamespace}, ",")})
	if err != nil {
		return nil, err
	}
	if err := manager.awaitReadyz(ctx, ports[1]); err != nil {
		return nil, err
	}
	return manager, applyPolicies(ctx, c, program, rules)
}

// installEvenkeel installs Evenkeel's kinds and permissions, and writes a kubeconfig of its manager's.
func installEvenkeel(ctx context.Context, c *cluster, root, kubeconfig string) error {
	if _, err := c.kubectl(ctx, nil, "create", "namespace", evenkeelNamespace); err != nil {
		return err
	}
	for _, folder := range []string{"crd", "rbac"} {
		folder = filepath.Join(root, "config", folder)
		if _, err := c.kubectl(ctx, nil, "apply", "--server-side", "-k", folder); err != nil {
			return err
		}
	}
	if err := c.established(ctx); err != nil {
		return err
	}
	return c.kubeconfigOf(ctx, kubeconfig, "system:serviceaccount:"+evenkeelNamespace+":evenkeel",
		"system:serviceaccounts", "system:serviceaccounts:"+evenkeelNamespace, "system:authenticated")
}

// applyPolicies applies what migrate makes of files of ConstraintTemplates and constraints.
func applyPolicies(ctx context.Context, c *cluster, program string, rules []string) error {
	for _, file := range rules {
		policies, err := runWith(ctx, nil, []string{program, "migrate", "gatekeeper", file})
		if err != nil {
			return err
		}
		if _, err := c.kubectl(ctx, policies, "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

// startGatekeeper installs Gatekeeper's kinds, starts its program, applies a file of ConstraintTemplates and
// constraints, and registers its webhook for one namespace.
func startGatekeeper(ctx context.Context, c *cluster, root, program, work, rules string) (*child, error) {
	if err := installGatekeeper(ctx, c, root); err != nil {
		return nil, err
	}
	if _, err := writeCertificate(work); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	manager, err := startChild(ctx, "Gatekeeper's manager", filepath.Join(work, "gatekeeper.log"),
		[]string{"POD_NAMESPACE=gatekeeper-system", "POD_NAME=gatekeeper", "NAMESPACE=gatekeeper-system"}, []string{
			program, "--kubeconfig=" + c.Kubeconfig, "--debug-use-fake-pod", "--disable-cert-rotation",
			"--cert-dir=" + work, fmt.Sprintf("--port=%d", ports[0]),
			fmt.Sprintf("--health-addr=127.0.0.1:%d", ports[1]), fmt.Sprintf("--prometheus-port=%d", ports[2]),
			"--operation=webhook", "--operation=status", "--operation=generate", "--shutdown-delay=0",
			"--exempt-namespace=gatekeeper-system", "--disable-opa-builtin={http.send}"})
	if err != nil {
		return nil, err
	}
	if err := manager.awaitReadyz(ctx, ports[1]); err != nil {
		return nil, err
	}
	// The constraints' kinds are there some time after the templates.
	if err := manager.awaitReady(ctx, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, nil, "apply", "--server-side", "-f", rules)
		return err
	}); err != nil {
		return nil, err
	}
	return manager, registerGatekeeper(ctx, c, work, ports[0])
}

// installGatekeeper installs Gatekeeper's kinds.
func installGatekeeper(ctx context.Context, c *cluster, root string) error {
	released, err := manifestOf(ctx, filepath.Join(root, "hack", "components", "gatekeeper"),
		"github.com/open-policy-agent/gatekeeper/v3", "deploy", "gatekeeper.yaml")
	if err != nil {
		return err
	}
	for _, kind := range []string{"Namespace", "CustomResourceDefinition"} {
		if _, err := c.kubectl(ctx, ofKinds(released, kind), "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
	}
	return c.established(ctx)
}

// registerGatekeeper registers Gatekeeper's webhook as its manifest does, at a URL and for one namespace.
func registerGatekeeper(ctx context.Context, c *cluster, work string, port int) error {
	authority, err := os.ReadFile(filepath.Join(work, "tls.crt"))
	if err != nil {
		return err
	}
	return c.apply(ctx, map[string]any{"apiVersion": "admissionregistration.k8s.io/v1",
		"kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": "gatekeeper"},
		"webhooks": []any{map[string]any{"name": "validation.gatekeeper.sh", "failurePolicy": "Ignore",
			"matchPolicy": "Exact", "sideEffects": "None", "timeoutSeconds": 3, "admissionReviewVersions": []any{"v1"},
			"clientConfig": map[string]any{"url": fmt.Sprintf("https://localhost:%d/v1/admit", port),
				"caBundle": base64.StdEncoding.EncodeToString(authority)},
			"namespaceSelector": onlyNamespace(ofGatekeeper),
			"rules": []any{map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"},
				"operations": []any{"CREATE", "UPDATE"}, "scope": "Namespaced"}}}}})
}

// manifestOf is a file of a module that is pinned in a folder.
func manifestOf(ctx context.Context, folder, module string, path ...string) ([]byte, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = folder
	root, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the module %s: %w", module, err)
	}
	return os.ReadFile(filepath.Join(string(bytes.TrimSpace(root)), filepath.Join(path...)))
}

// bindExpressions makes a ValidatingAdmissionPolicy of each CEL expression, for one namespace.
func bindExpressions(ctx context.Context, c *cluster) error {
	expressions, err := filesOf(expressionRules, "pairs", ".cel")
	if err != nil {
		return err
	}
	const version = "admissionregistration.k8s.io/v1"
	var objects []map[string]any
	for name, expression := range expressions {
		named := map[string]any{"name": "bench-" + name}
		objects = append(objects, map[string]any{"apiVersion": version, "kind": "ValidatingAdmissionPolicy",
			"metadata": named, "spec": map[string]any{"failurePolicy": "Ignore",
				"matchConstraints": onPods(), "validations": validation(name, expression)}},
			map[string]any{"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": named,
				"spec": map[string]any{"policyName": "bench-" + name, "validationActions": []any{"Deny"},
					"matchResources": map[string]any{"namespaceSelector": onlyNamespace(ofExpressions)}}})
	}
	return c.apply(ctx, objects...)
}

// established waits until every CustomResourceDefinition is served.
func (c *cluster) established(ctx context.Context) error {
	_, err := c.kubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}

// onlyNamespace selects a namespace by its name.
func onlyNamespace(name string) map[string]any {
	return map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": name}}
}
