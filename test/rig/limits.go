// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/test/cluster"
)

// limitVariables are what the Go runtime reads of the manager's environment.
var limitVariables = map[string]bool{"GOGC": true, "GOMEMLIMIT": true}

// ShipLimits gives the managers that are made from now on what config/manager
// tells the Go runtime of its memory, and returns the memory limit in bytes of
// the container there. Nothing enforces that limit here: a spec compares it with
// the process's peak.
func (r *Rig) ShipLimits() int64 {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	raw, err := os.ReadFile(filepath.Join(root, "config", "manager", "deployment.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var shipped appsv1.Deployment
	Expect(yaml.UnmarshalStrict(raw, &shipped)).To(Succeed())
	container := shipped.Spec.Template.Spec.Containers[0]
	r.env = nil
	for _, v := range container.Env {
		if limitVariables[v.Name] {
			r.env = append(r.env, v.Name+"="+v.Value)
		}
	}
	Expect(r.env).To(HaveLen(len(limitVariables)), "config/manager/deployment.yaml must set GOGC and GOMEMLIMIT")
	limit := container.Resources.Limits.Memory().Value()
	Expect(limit).To(BeNumerically(">", 0), "config/manager/deployment.yaml must limit the memory")
	return limit
}
