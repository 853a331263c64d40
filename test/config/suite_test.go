// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/process"
)

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "The manifests of an install")
}

// The specs share one control plane. Each container installs what it is about and
// uninstalls it, so that they can run in any order.
var (
	plane *cluster.Cluster
	// api is an administrator's client.
	api client.WithWatch
	// binary is Evenkeel's program, and work a folder for what the specs make.
	binary, work string
)

var _ = BeforeSuite(func(ctx context.Context) {
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	work, err = os.MkdirTemp("", "evenkeel-config-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, work)
	binary, err = process.Build(ctx, root, work)
	Expect(err).NotTo(HaveOccurred())
	plane, err = cluster.Start(ctx, work)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(plane.Stop)
	api, err = plane.Client()
	Expect(err).NotTo(HaveOccurred())

	kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(moduleDir(ctx, certManagerModule), "deploy", "crds"))
	kubectl(ctx, "apply", "--server-side", "-f",
		filepath.Join(moduleDir(ctx, prometheusOperatorModule), "example", "prometheus-operator-crd"))
	Expect(plane.AwaitKinds(ctx)).To(Succeed())
})

// kubectl runs kubectl as an administrator; it must succeed.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, _, err := plane.Kubectl(ctx, "", args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}
