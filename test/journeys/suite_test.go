// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/rig"
)

func TestJourneys(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "People and what they want of Evenkeel")
}

// The journeys of a process share one control plane and one manager, and follow one another.
var (
	suite   *rig.Rig
	manager *rig.Manager
)

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	suite, err = rig.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
	manager = suite.StartManager(ctx, "--rollout-poll-interval=200ms", "--plan-interval=2s", "--storm-interval=1s",
		"--source-allow-files",
		// Neither is there: runbooks are about that, too.
		"--prometheus-url=http://127.0.0.1:9", "--alertmanager-url=http://127.0.0.1:9",
		"--cluster-name=test")
})

var _ = BeforeEach(func() { manager.BeginSpec() })

var _ = JustAfterEach(func() { manager.ReportFailure() })

// tableVariable names the file to write the table of journeys to.
const tableVariable = "EVENKEEL_JOURNEYS_TABLE"

var _ = ReportAfterSuite("the table of journeys", func(report Report) {
	if path := os.Getenv(tableVariable); path != "" {
		Expect(os.WriteFile(path, []byte(table(report.SpecReports)), 0o600)).To(Succeed())
	}
})
