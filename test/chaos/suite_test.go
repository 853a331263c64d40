// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/rig"
)

// figuresEntry is what the figures of a spec are called in its report.
const figuresEntry = "figures"

// tableVariable names the file to write the table of figures to.
const tableVariable = "EVENKEEL_CHAOS_TABLE"

func TestChaos(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(5 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Rollouts under faults")
}

// long marks a spec that takes minutes: it begins first, so that it doesn't run alone at the end.
const long = SpecPriority(1)

// suite is shared by the specs of a process, which run one after another.
var (
	suite *rig.Rig
	// offset is the file that moves the managers' time.
	offset string
)

var _ = BeforeSuite(func(ctx context.Context) {
	// Every manager of this suite is built with a time that the specs can move.
	offset = filepath.Join(GinkgoT().TempDir(), "offset")
	GinkgoT().Setenv("EVENKEEL_CLOCK_OFFSET_FILE", offset)
	var err error
	suite, err = rig.Start(ctx, "-tags=clockoffset")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
})

var _ = ReportAfterSuite("the table of figures", func(report Report) {
	if path := os.Getenv(tableVariable); path != "" && report.SuiteSucceeded {
		Expect(os.WriteFile(path, []byte(table(figuresOf(report))), 0o644)).To(Succeed())
	}
})

// figuresOf are those that the specs have noted, in whichever process.
func figuresOf(report Report) []figure {
	GinkgoHelper()
	var figures []figure
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name != figuresEntry {
				continue
			}
			raw, err := json.Marshal(entry.GetRawValue())
			Expect(err).NotTo(HaveOccurred())
			var f figure
			Expect(json.Unmarshal(raw, &f)).To(Succeed())
			figures = append(figures, f)
		}
	}
	return figures
}
