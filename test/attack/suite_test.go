// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/rig"
)

// tableVariable names the file to write the table of attempts to.
const tableVariable = "EVENKEEL_ATTACK_TABLE"

func TestAttack(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Attempts on a real API server")
}

// The specs share one control plane and one manager, and run one after another.
var (
	suite   *rig.Rig
	manager *rig.Manager
)

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	suite, err = rig.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
	suite.ShipLimits()
	manager = suite.StartManager(ctx)
})

var _ = BeforeEach(func() { manager.BeginSpec() })

var _ = JustAfterEach(func() { manager.ReportFailure() })

var _ = ReportAfterSuite("the table of attempts", func(report Report) {
	if path := os.Getenv(tableVariable); path != "" {
		Expect(os.WriteFile(path, []byte(table(report.SpecReports)), 0o644)).To(Succeed())
	}
})
