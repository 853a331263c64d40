// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/cluster"
)

// The modules that hold the CustomResourceDefinitions of projects that an install
// can work with.
const (
	certManagerModule        = "github.com/cert-manager/cert-manager"
	prometheusOperatorModule = "github.com/prometheus-operator/prometheus-operator"
)

// moduleDir is the folder of a module in the module cache, at the version that
// hack/components/crds pins.
func moduleDir(ctx context.Context, module string) string {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "hack", "components", "crds")
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "%s", out)
	var downloaded struct{ Dir string }
	Expect(json.Unmarshal(out, &downloaded)).To(Succeed())
	Expect(downloaded.Dir).NotTo(BeEmpty())
	return downloaded.Dir
}
