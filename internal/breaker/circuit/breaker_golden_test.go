// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/test/recorded"
)

var update = flag.Bool("update", false, "write the golden files anew")

// story lets a breaker live and writes down what happens.
type story struct {
	strings.Builder
	cb  v1alpha1.RemediationBreaker
	now time.Time
}

func newStory(name string) *story {
	s := &story{now: start}
	s.cb.Name = name
	return s
}

func (s *story) wait(d time.Duration, why string) {
	s.now = s.now.Add(d)
	fmt.Fprintf(s, "\n== %s: %s\n", d, why)
}

func (s *story) become(what string, st v1alpha1.RemediationBreakerStatus) {
	fmt.Fprintf(s, "%s  %s\n", s.now.Format("15:04:05"), what)
	if st.State != s.cb.Status.State || st.Reason != s.cb.Status.Reason || st.Message != s.cb.Status.Message {
		fmt.Fprintf(s, "          => %s (%s), opening %d: %s\n", st.State, st.Reason, st.Openings, st.Message)
	}
	fmt.Fprintf(s, "          window: %d of %d failed, %d in a row, %d bucket(s)\n",
		st.Failures, st.Outcomes, st.ConsecutiveFailures, len(st.Buckets))
	s.cb.Status = st
}

func (s *story) tick() {
	s.become("tick", circuit.Tick(s.cb.Status, v1alpha1.BreakerStrategy{}, s.now))
}

func (s *story) open(n int) {
	s.become(fmt.Sprintf("%d policy breakers are open", n), circuit.Open(s.cb.Status, v1alpha1.ReasonPolicyBreakersOpen,
		circuit.MessagePolicyBreakersOpen(n), v1alpha1.BreakerStrategy{}, s.now))
}

func (s *story) event(e circuit.EventType, plan, key string) {
	what := fmt.Sprintf("%s %s (%s)", plan, e, key)
	s.become(what, circuit.Next(s.cb.Status, circuit.Event{Type: e, Key: plan + "/" + key, Remediation: plan},
		v1alpha1.BreakerStrategy{}, s.now))
}

func (s *story) ask(plan string) {
	st, v := circuit.Admit(&s.cb, plan, v1alpha1.BreakerStrategy{}, s.now, time.Hour)
	answer := "no"
	if v.Allowed {
		answer = "yes"
	}
	s.become(fmt.Sprintf("may %s write? %s, %s: %s", plan, answer, v.Reason, v.Message), st)
}

func policyStory() *story {
	s := newStory("policy-tags")
	s.ask("tags-1")
	s.event(circuit.TargetSucceeded, "tags-1", "web-00")
	s.wait(7*time.Minute, "two targets fail, one of them reported twice")
	s.event(circuit.TargetFailed, "tags-1", "web-01")
	s.event(circuit.TargetFailed, "tags-1", "web-01")
	s.event(circuit.TargetFailed, "tags-1", "web-02")
	s.wait(time.Minute, "a third in a row")
	s.event(circuit.TargetFailed, "tags-1", "web-03")
	s.ask("tags-1")
	s.wait(time.Minute, "the plan is rolled back while the breaker is open")
	s.event(circuit.PlanFailed, "tags-1", "end")
	s.wait(30*time.Minute, "cooled down: one plan probes, another waits")
	s.ask("tags-2")
	s.ask("tags-3")
	s.wait(2*time.Minute, "the probe's canary fails")
	s.event(circuit.CanaryFailed, "tags-2", "web-01")
	s.wait(time.Hour, "cooled down again, but the probe hangs")
	s.ask("tags-3")
	s.wait(time.Hour, "its permit lapses")
	s.tick()
	s.wait(2*time.Hour, "two probes succeed")
	s.ask("tags-4")
	s.event(circuit.TargetSucceeded, "tags-4", "web-01")
	s.event(circuit.PlanSucceeded, "tags-4", "end")
	s.wait(10*time.Minute, "the second")
	s.ask("tags-5")
	s.event(circuit.PlanSucceeded, "tags-5", "end")
	s.wait(time.Minute, "a person pulls the kill switch")
	s.cb.Spec.Mode = v1alpha1.BreakerForcedOpen
	s.ask("tags-6")
	s.wait(time.Minute, "and lets go")
	s.cb.Spec.Mode = ""
	s.ask("tags-6")
	return s
}

func clockStory() *story {
	s := newStory("global")
	s.event(circuit.TargetFailed, "tags-1", "web-00")
	s.wait(-20*time.Minute, "the clock goes back; the failure is kept")
	s.event(circuit.TargetFailed, "tags-1", "web-01")
	s.open(3)
	s.wait(-24*time.Hour, "the clock goes back a day; the promise stands")
	s.ask("tags-2")
	s.wait(24*time.Hour+30*time.Minute, "the clock is right again")
	s.ask("tags-2")
	s.wait(-10*time.Minute, "back while a probe is under way: its holder may go on")
	s.ask("tags-2")
	s.wait(-10*time.Minute, "the probe ends well; the next must wait for the promised time")
	s.event(circuit.PlanSucceeded, "tags-2", "end")
	s.ask("tags-3")
	s.wait(time.Minute, "somebody writes a state that isn't one")
	s.cb.Status.State = "Shut"
	s.ask("tags-3")
	return s
}

func (s *story) demotion(revision string) {
	st := circuit.Demotion(s.cb.Status, revision, s.now)
	switch {
	case st.Demoted != nil && s.cb.Status.Demoted == nil:
		fmt.Fprintf(s, "%s  demoted at revision %s: %s\n", s.now.Format("15:04:05"), revision, st.Demoted.Message)
	case st.Demoted == nil && s.cb.Status.Demoted != nil:
		fmt.Fprintf(s, "%s  revision %s ends the demotion\n", s.now.Format("15:04:05"), revision)
	}
	s.cb.Status = st
}

func (s *story) scan(revision string, violating int32) {
	s.become(fmt.Sprintf("a scan finds %d objects that violate revision %s", violating, revision),
		circuit.Storm(s.cb.Status, circuit.Violations{Revision: revision, Objects: violating},
			v1alpha1.BreakerStrategy{}, s.now))
	s.demotion(revision)
}

func (s *story) answer(a circuit.Answer) {
	strategy := objective("99.9", 0)
	st := circuit.Burn(s.cb.Status, a, strategy, s.now)
	s.become(fmt.Sprintf("the objective's query answers %v (error: %v): %s, %s", a.Ratio, a.Err, st.SLO.Verdict,
		st.SLO.Message), st)
	if v := circuit.SLOGate(s.cb.Name, &st, strategy, circuit.DefaultSLOInterval, s.now); !v.Allowed {
		fmt.Fprintf(s, "          no new write: %s, %s\n", v.Reason, v.Message)
	}
}

func (s *story) reset(by, reason string) {
	s.cb.Spec.ResetToken += "again"
	recorded.Requests(&s.cb, []v1alpha1.RequestRecord{
		{Action: v1alpha1.ActionReset, Token: s.cb.Spec.ResetToken, User: by, Reason: reason}}...)
	st, _ := circuit.Reset(&s.cb, s.now)
	s.become(by+" resets the breaker", st)
}

func stormStory() *story {
	s := newStory("policy-tags")
	s.scan("r1", 10_000)
	s.wait(time.Hour, "most are fixed")
	s.scan("r1", 40)
	s.wait(5*time.Minute, "a release brings new ones")
	s.scan("r1", 139)
	s.wait(5*time.Minute, "and one more")
	s.scan("r1", 140)
	s.wait(30*time.Minute, "cooled down, and the storm was counted")
	s.scan("r1", 145)
	s.wait(time.Minute, "but it goes on")
	s.scan("r1", 260)
	s.wait(time.Hour, "and on")
	s.scan("r1", 400)
	s.wait(time.Minute, "the policy is fixed: what its new rule finds is no storm")
	s.scan("r2", 5000)
	return s
}

func burnStory() *story {
	s := newStory("policy-tags")
	s.answer(circuit.Answer{Ratio: 0.0004})
	s.ask("tags-1")
	s.wait(30*time.Second, "Prometheus is down: nothing opens, and nothing is written")
	s.answer(circuit.Answer{Err: errors.New("connection refused")})
	s.wait(30*time.Second, "an outage")
	s.answer(circuit.Answer{Ratio: 0.52})
	s.ask("tags-1")
	s.wait(30*time.Minute, "cooled down, but it still burns")
	s.answer(circuit.Answer{Ratio: 0.48})
	s.wait(5*time.Minute, "a person knows better, but what is seen decides")
	s.reset("alice@example.com", "the outage is over")
	s.answer(circuit.Answer{Ratio: 0.41})
	s.wait(time.Minute, "now it is over")
	s.reset("alice@example.com", "it is over now")
	s.answer(circuit.Answer{Ratio: 0.02})
	s.ask("tags-1")
	return s
}

// The golden files are to be read: each is a breaker's life, with all that its
// status and its verdicts say to people. Write them anew with
// go test ./internal/canary -update.
func TestLifeOfABreaker(t *testing.T) {
	for name, tell := range map[string]func() *story{"policy": policyStory, "clock": clockStory, "storm": stormStory,
		"burn": burnStory} {
		t.Run(name, func(t *testing.T) {
			got := tell().String()
			file := filepath.Join("testdata", "breaker", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v: write it with go test ./internal/canary -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
