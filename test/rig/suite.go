// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/ginkgo/v2"
)

// reportsVariable names a folder for reports, which hack/runtests reads.
const reportsVariable = "EVENKEEL_REPORTS"

// Run runs the specs of a suite. Where somebody asks for it, what became of each is
// written to a file with the name of the suite's folder.
func Run(t *testing.T, about string) {
	t.Helper()
	suite, reporter := ginkgo.GinkgoConfiguration()
	if folder := os.Getenv(reportsVariable); folder != "" {
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		reporter.JSONReport = filepath.Join(folder, filepath.Base(here)+".json")
	}
	ginkgo.RunSpecs(t, about, suite, reporter)
}
