// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/process"
)

// Where Gatekeeper comes from.
const (
	component = "hack/components/gatekeeper"
	module    = "github.com/open-policy-agent/gatekeeper/v3"
)

// listed is how many violations of a constraint Gatekeeper lists.
const listed = 5

// installation is Gatekeeper as a process beside the control plane.
type installation struct{ *process.Daemon }

// install installs Gatekeeper's kinds, starts its program and registers its webhook.
func install(ctx context.Context) *installation {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	objects := released(ctx, root)
	for _, kind := range []string{"Namespace", "CustomResourceDefinition"} {
		for _, object := range objects[kind] {
			Expect(suite.API.Create(ctx, object)).To(Succeed())
		}
	}
	Expect(suite.AwaitKinds(ctx)).To(Succeed())
	dir := GinkgoT().TempDir()
	program, err := process.BuildProgram(ctx, process.Program{Root: root, Module: component, Package: module}, dir)
	Expect(err).NotTo(HaveOccurred())
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, []string{"localhost"})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)).To(Succeed())
	cache := filepath.Join(dir, "audit") // which Gatekeeper empties, and doesn't make
	Expect(os.Mkdir(cache, 0o700)).To(Succeed())
	ports, err := process.FreePorts(3)
	Expect(err).NotTo(HaveOccurred())
	d := process.NewDaemon(process.DaemonConfig{
		Name: "Gatekeeper", Path: program, Log: filepath.Join(dir, "gatekeeper.log"),
		ReadyURL: fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]),
		Env:      []string{"POD_NAMESPACE=gatekeeper-system", "POD_NAME=gatekeeper", "NAMESPACE=gatekeeper-system"},
		Args: []string{"--kubeconfig=" + suite.Kubeconfig, "--debug-use-fake-pod", "--disable-cert-rotation",
			"--cert-dir=" + dir, "--port=" + strconv.Itoa(ports[0]),
			"--health-addr=127.0.0.1:" + strconv.Itoa(ports[1]), "--prometheus-port=" + strconv.Itoa(ports[2]),
			"--operation=webhook", "--operation=audit", "--operation=status", "--operation=generate",
			"--audit-interval=3", "--constraint-violations-limit=" + strconv.Itoa(listed), "--api-cache-dir=" + cache,
			"--shutdown-delay=0", "--exempt-namespace=gatekeeper-system"},
	})
	Expect(d.Start(ctx)).To(Succeed())
	DeferCleanup(d.Stop)
	register(ctx, objects, fmt.Sprintf("https://localhost:%d/v1/admit", ports[0]), certificate)
	return &installation{d}
}

// released are the objects of the module's own manifest, by kind.
func released(ctx context.Context, root string) map[string][]*unstructured.Unstructured {
	GinkgoHelper()
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = filepath.Join(root, component)
	folder, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	documents, err := manifest.Read(ctx, []string{filepath.Join(strings.TrimSpace(string(folder)), "deploy",
		"gatekeeper.yaml")}, nil, manifest.Options{})
	Expect(err).NotTo(HaveOccurred())
	byKind := map[string][]*unstructured.Unstructured{}
	for i := range documents {
		object := &unstructured.Unstructured{Object: documents[i].Object}
		byKind[object.GetKind()] = append(byKind[object.GetKind()], object)
	}
	return byKind
}

// register registers the webhook that validates, at its URL, as the manifest has it otherwise.
func register(ctx context.Context, objects map[string][]*unstructured.Unstructured, url string, authority []byte) {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(
		objects["ValidatingWebhookConfiguration"][0].Object, config)).To(Succeed())
	config.Webhooks = config.Webhooks[:1]
	config.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority}
	Expect(suite.API.Create(ctx, config)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(suite.API.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: config.Name}}))).To(Succeed())
	})
}

// reportFailure shows the end of Gatekeeper's log if the spec has failed.
func (i *installation) reportFailure() {
	if !CurrentSpecReport().Failed() {
		return
	}
	text, err := os.ReadFile(i.Log())
	Expect(err).NotTo(HaveOccurred())
	const most = 12000
	GinkgoWriter.Printf("Gatekeeper's log:\n%s\n", text[max(0, len(text)-most):])
}
