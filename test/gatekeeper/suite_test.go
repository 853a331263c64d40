// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/rig"
)

func TestGatekeeper(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Moving a cluster from Gatekeeper")
}

// The specs of a process share one control plane, one Gatekeeper and one manager, and run one after another.
var (
	suite   *rig.Rig
	manager *rig.Manager
	theirs  *installation
)

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	suite, err = rig.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
	theirs = install(ctx)
	manager = suite.StartManager(ctx)
})

var _ = BeforeEach(func() { manager.BeginSpec() })

var _ = JustAfterEach(func() {
	manager.ReportFailure()
	theirs.reportFailure()
})
