// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/test/cluster"
)

func TestImage(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "The image")
}

const (
	systemNamespace = "evenkeel-system"
	imageName       = "registry.example.com/evenkeel"
	version         = "v0.0.1-test"
)

// platforms are those that the image is built for.
func platforms() []string { return []string{"linux/amd64", "linux/arm64"} }

var (
	// built is what `make image` has left: a folder.
	built string
	// images are by platform.
	images map[string]*image
	// root is the root file system of this machine's platform.
	root string
	// bubblewrap is the program that makes namespaces.
	bubblewrap string
	plane      *cluster.Cluster
	// api is an administrator's client.
	api  client.WithWatch
	work string
)

var _ = BeforeSuite(func(ctx context.Context) {
	log.SetLogger(GinkgoLogr)
	repository, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	work, err = os.MkdirTemp("", "evenkeel-image-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, work)
	built = filepath.Join(work, "image")
	script := exec.CommandContext(ctx, filepath.Join(repository, "hack", "image.sh"),
		append([]string{built, version, imageName}, platforms()...)...)
	out, err := script.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", out)
	AddReportEntry("image", string(out))
	root = filepath.Join(work, "root")
	images = map[string]*image{}
	for _, platform := range platforms() {
		images[platform] = readImage(platform)
	}
	images[machine()].unpack(root)

	plane, err = cluster.Start(ctx, work)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(plane.Stop)
	api, err = plane.Client()
	Expect(err).NotTo(HaveOccurred())
	bubblewrap, err = plane.Tool(ctx, "bwrap")
	Expect(err).NotTo(HaveOccurred())
	install(ctx)
})

// install applies what an administrator would who has the webhook ask for client
// certificates.
func install(ctx context.Context) {
	GinkgoHelper()
	Expect(plane.Install(ctx, "self-signed")).To(Succeed())
	overlay, err := os.MkdirTemp(work, "overlay-")
	Expect(err).NotTo(HaveOccurred())
	repository, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	config, err := filepath.Rel(overlay, filepath.Join(repository, "config"))
	Expect(err).NotTo(HaveOccurred())
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + config +
		"/self-signed]\n" +
		"components: [" + config + "/components/mutual-tls]\nimages: [{name: evenkeel, newName: " + imageName +
		", newTag: " + version + "}]\n"
	Expect(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	kubectl(ctx, "create", "configmap", "evenkeel-webhook-client-ca", "--namespace="+systemNamespace,
		"--from-file=ca.crt="+plane.WebhookClientCA)
	kubectl(ctx, "apply", "--server-side", "--validate=strict", "-k", overlay)
}

// kubectl runs kubectl as an administrator; it must succeed.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, _, err := plane.Kubectl(ctx, "", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}
