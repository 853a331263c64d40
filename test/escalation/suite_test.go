// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/process"
	"evenkeel.dev/evenkeel/test/rig"
)

func TestEscalation(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Escalation to real Alertmanagers")
}

// peer is an Alertmanager with the inbox that its receivers lead to.
type peer struct {
	*rig.Alertmanager
	inbox *rig.Inbox
}

// The specs share one control plane, one manager and its two Alertmanagers, and
// run one after another.
var (
	suite         *rig.Rig
	manager       *rig.Manager
	metricsURL    string
	first, second peer
)

// routing is the tree of both Alertmanagers: by owner, as docs/operate.md has it.
const routing = `
route:
  receiver: platform
  group_by: [alertname, cluster, policy, scope]
  group_wait: 100ms
  group_interval: 500ms
  repeat_interval: 1h
  routes:
    - matchers: [owner="shop"]
      receiver: shop
receivers:
  - name: platform
    webhook_configs: [{url: "%[1]s/platform", send_resolved: true}]
  - name: shop
    webhook_configs: [{url: "%[1]s/shop", send_resolved: true}]
inhibit_rules:
  - source_matchers: [alertname="EvenkeelBreakerOpen"]
    target_matchers: [alertname="EvenkeelRemediationHeld"]
    equal: [cluster, policy]
`

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	suite, err = rig.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.Stop)
	// No spec waits for a rollout that only waits for its next look.
	suite.Flags = []string{"--rollout-poll-interval=200ms", "--plan-interval=2s", "--storm-interval=1s"}
	for _, p := range []*peer{&first, &second} {
		p.inbox = rig.NewInbox()
		p.Alertmanager = suite.StartAlertmanager(ctx, fmt.Sprintf(routing, p.inbox.URL))
	}
	// An alert that isn't sent for four intervals ends: that is longer than a busy machine stands still.
	manager = suite.StartManager(ctx, flags("--alert-interval=3s")...)
}, NodeTimeout(15*time.Minute))

var _ = BeforeEach(func() { manager.BeginSpec() })

var _ = JustAfterEach(func() { manager.ReportFailure() })

// flags are those of a manager that escalates to both peers and tells its figures.
func flags(more ...string) []string {
	GinkgoHelper()
	ports, err := process.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	metricsURL = fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[0])
	return append([]string{
		"--alertmanager-url=" + first.URL, "--alertmanager-url=" + second.URL,
		"--cluster-name=test-1", "--alert-owner=platform",
		"--dashboard-url=https://grafana.example.com/d/evenkeel?var-policy={{.Policy}}",
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), "--metrics-insecure",
	}, more...)
}

// metric is the value of a series, as it is written on the page of metrics; zero
// when it isn't there.
func metric(ctx context.Context, series string) float64 {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if text, found := strings.CutPrefix(lines.Text(), series+" "); found {
			value, err := strconv.ParseFloat(text, 64)
			Expect(err).NotTo(HaveOccurred())
			return value
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return 0
}

// awaitTicks waits until the first peer has taken the alerts so many times more.
func awaitTicks(ctx context.Context, n float64) {
	GinkgoHelper()
	posts := fmt.Sprintf("evenkeel_escalation_posts_total{peer=%q,result=\"success\"}",
		strings.TrimPrefix(first.URL, "http://"))
	from := metric(ctx, posts)
	Eventually(ctx, func() float64 { return metric(ctx, posts) }).Should(BeNumerically(">=", from+n))
}
