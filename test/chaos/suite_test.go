package chaos_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/rig"
)

// tableVariable names the file to write the table of figures to.
const tableVariable = "EVENKEEL_CHAOS_TABLE"

func TestChaos(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(180 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Rollouts under faults")
}

// suite is shared by the specs, which run one after another, and figures by
// those that have ended.
var (
	suite   *rig.Rig
	figures []figure
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
		Expect(os.WriteFile(path, []byte(table(figures)), 0o644)).To(Succeed())
	}
})
