// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// refusedBy stands before what a webhook says.
const refusedBy = "denied the request: "

// agreeWithin bounds how long the judges may take until the last rule is in force in each.
const agreeWithin = 2 * time.Minute

// podVerdict is what is said of a Pod.
type podVerdict struct {
	// valid says that the API server takes it, whoever judges it.
	valid, allowed bool
	// messages are those of the violations, where the judge names them all, or why it isn't valid.
	messages []string
}

// agreeOnPods holds those with the same rules to the same verdicts of Pods that each depart from the rules in one
// place. It waits for the last rule to come into force. It says how many there are, of what.
func agreeOnPods(ctx context.Context, admissions []*admission) (string, error) {
	for end := time.Now().Add(agreeWithin); ; {
		found, err := compareOnPods(ctx, admissions)
		if err == nil || time.Now().After(end) {
			return found, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(time.Second):
		}
	}
}

func compareOnPods(ctx context.Context, admissions []*admission) (string, error) {
	all := make([][]podVerdict, len(admissions))
	for i, a := range admissions {
		verdicts, err := a.verdicts(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", a.name, err)
		}
		all[i] = verdicts
	}
	for i, a := range admissions {
		if first := all[i][0]; !first.allowed {
			return "", fmt.Errorf("with %s, the Pod that violates nothing is refused: %q", a.name, first.messages)
		}
	}
	pods, refused, messages, five := 0, 0, 0, 0
	for n, plain := range all[nobody] {
		if !plain.valid {
			continue
		}
		ours := all[evenkeelAll][n]
		if err := errors.Join(ours.differs(all[gatekeeperAll][n]), differsOfFive(all, n)); err != nil {
			return "", fmt.Errorf("verdicts of Pod %d: %w", n, err)
		}
		pods, messages = pods+1, messages+len(ours.messages)
		refused, five = refused+count(!ours.allowed), five+count(!all[evenkeelFive][n].allowed)
	}
	if refused == 0 || five == 0 {
		return "", errors.New("no Pod is refused: that proves nothing")
	}
	return fmt.Sprintf("of %d Pods that depart from them in one place, or none, Evenkeel and Gatekeeper refused the "+
		"same %d with the same %d messages, and Evenkeel, the expressions and Kyverno the same %d", pods, refused,
		messages, five), nil
}

// differsOfFive errs where the expressions, or Kyverno with them, say something else of a Pod than Evenkeel. Kyverno
// names the expressions alone, and the API server no more than one.
func differsOfFive(all [][]podVerdict, n int) error {
	ours, expressions, kyverno := all[evenkeelFive][n], all[expressionsFive][n], all[kyvernoFive][n]
	switch {
	case ours.allowed != expressions.allowed:
		return fmt.Errorf("allowed is %t by Evenkeel, and %t by the expressions", ours.allowed, expressions.allowed)
	case ours.allowed != kyverno.allowed, len(ours.messages) != len(kyverno.messages):
		return fmt.Errorf("allowed is %t by Evenkeel, %q, and %t by Kyverno, for %q", ours.allowed, ours.messages,
			kyverno.allowed, kyverno.messages)
	default:
		return nil
	}
}

// differs errs where Gatekeeper says something else of a Pod.
func (v podVerdict) differs(theirs podVerdict) error {
	if v.allowed == theirs.allowed && slices.Equal(v.messages, theirs.messages) {
		return nil
	}
	return fmt.Errorf("allowed is %t by Evenkeel, %q, and %t by Gatekeeper, %q", v.allowed, v.messages, theirs.allowed,
		theirs.messages)
}

func count(of bool) int {
	if of {
		return 1
	}
	return 0
}

func (a *admission) verdicts(ctx context.Context) ([]podVerdict, error) {
	var all []podVerdict
	for n := range departures() + 1 {
		pod, err := podIn(a.namespace, n)
		if err != nil {
			return nil, err
		}
		status, text, err := a.clients[0].post(ctx, pod)
		if err != nil {
			return nil, err
		}
		verdict, err := verdictOf(status, bytes.ReplaceAll(text, []byte(a.namespace), []byte("there")))
		if err != nil {
			return nil, fmt.Errorf("make Pod %d: %w", n, err)
		}
		all = append(all, verdict)
	}
	return all, nil
}

// verdictOf reads what the API server answers.
func verdictOf(status int, text []byte) (podVerdict, error) {
	if status == http.StatusCreated {
		return podVerdict{valid: true, allowed: true}, nil
	}
	var answer struct{ Message string }
	if err := json.Unmarshal(text, &answer); err != nil {
		return podVerdict{}, fmt.Errorf("the API server answers %d, %s: %w", status, text, err)
	}
	switch status {
	case http.StatusUnprocessableEntity:
		if !strings.Contains(answer.Message, "ValidatingAdmissionPolicy") {
			return podVerdict{messages: []string{answer.Message}}, nil
		}
		return podVerdict{valid: true}, nil
	case http.StatusForbidden:
		return podVerdict{valid: true, messages: violationsIn(answer.Message)}, nil
	case http.StatusBadRequest: // Kyverno's webhook gives no code
		failed, err := failuresIn(answer.Message)
		return podVerdict{valid: true, messages: failed}, err
	default:
		return podVerdict{}, fmt.Errorf("the API server answers %d: %s", status, text)
	}
}

// failuresIn are the policies that Kyverno names in a refusal. One that it couldn't evaluate is an error.
func failuresIn(refusal string) ([]string, error) {
	_, list, found := strings.Cut(refusal, refusedBy+"Policy ")
	if !found {
		return nil, fmt.Errorf("the API server answers: %s", refusal)
	}
	var failed []string
	for part := range strings.SplitSeq(list, "; Policy ") {
		policy, _, found := strings.Cut(part, " failed: ")
		if !found {
			return nil, fmt.Errorf("a policy of Kyverno's can't be evaluated: %s", part)
		}
		failed = append(failed, strings.TrimPrefix(policy, "bench-"))
	}
	return failed, nil
}

// violationsIn are the messages of the violations that a refusal names: Gatekeeper's stand after the constraint's name
// in brackets, Evenkeel's after a dash.
func violationsIn(refusal string) []string {
	if _, rest, found := strings.Cut(refusal, refusedBy); found {
		refusal = rest
	}
	var all []string
	for line := range strings.Lines(refusal) {
		line = strings.TrimSpace(line)
		if message, found := strings.CutPrefix(line, "- "); found {
			all = append(all, message)
		} else if _, message, found := strings.Cut(line, "] "); found && strings.HasPrefix(line, "[") {
			all = append(all, message)
		}
	}
	slices.Sort(all)
	return all
}

// admissionsTable is the figures in Markdown. What is added, and the share, are those of each round to nobody's.
func admissionsTable(admissions []*admission, results [][]created) string {
	var b strings.Builder
	b.WriteString("| who judges | Pods a second | of those without | p50 | added | p99 | added | CPU of the judge | " +
		"CPU of the API server |\n|---|---|---|---|---|---|---|---|---|\n")
	first := results[nobody]
	for i, a := range admissions {
		var rates, shares []float64
		var p50, p99, added50, added99, judge, server []time.Duration
		for round, m := range results[i] {
			rates, shares = append(rates, m.rate), append(shares, 100*m.rate/first[round].rate)
			p50, added50 = append(p50, m.p50), append(added50, m.p50-first[round].p50)
			p99, added99 = append(p99, m.p99), append(added99, m.p99-first[round].p99)
			judge, server = append(judge, m.judge), append(server, m.server)
		}
		judges := "–"
		if a.judge != nil {
			judges = spread(judge, milliseconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", a.name, spread(rates, whole),
			spread(shares, percent), spread(p50, milliseconds), spread(added50, milliseconds),
			spread(p99, milliseconds), spread(added99, milliseconds), judges, spread(server, milliseconds))
	}
	return b.String()
}

// admissionsAdded says how Evenkeel's throughput is to those of the others, by round.
func admissionsAdded(admissions []*admission, results [][]created) string {
	var b strings.Builder
	for _, pair := range [][2]int{{evenkeelAll, gatekeeperAll}, {evenkeelFive, expressionsFive},
		{evenkeelFive, kyvernoFive}} {
		var to []float64
		for round, m := range results[pair[0]] {
			to = append(to, m.rate/results[pair[1]][round].rate)
		}
		fmt.Fprintf(&b, "Pods a second, %s to %s: %s times.\n", admissions[pair[0]].name, admissions[pair[1]].name,
			spread(to, hundredths))
	}
	return b.String()
}

func whole(f float64) string { return fmt.Sprintf("%.0f", f) }

func percent(f float64) string { return fmt.Sprintf("%.0f %%", f) }
