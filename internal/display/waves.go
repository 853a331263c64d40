// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// tally counts a wave's targets by what has become of them.
type tally struct {
	v1alpha1.TargetCounts
	total int32
}

// waves draws a line for each wave, under its stage where the plan has any.
func (r Rollout) waves(d *drawing) {
	d.section("Waves")
	if r.TargetsUnknown {
		d.add(busy, "  unavailable: you may not read its targets")
		return
	}
	counts := make([]tally, len(r.Remediation.Spec.Plan.Waves))
	r.each(func(t v1alpha1.Target, rec v1alpha1.TargetRecord) {
		wave := t.Wave
		if rec.Wave != nil {
			wave = *rec.Wave
		}
		if int(wave) < len(counts) {
			counts[wave].Add(rec.State)
			counts[wave].total++
		}
	})
	for i, count := range counts {
		for _, stage := range r.Remediation.Spec.Plan.Stages {
			if stage.FirstWave == int32(i) {
				d.add(bold, "  stage %s", stage.Name)
			}
		}
		t, text := r.wave(int32(i), count)
		d.add(t, "  %s %-10s %4d of %-4d  %s", mark(t), r.waveName(int32(i)), count.total-count.Pending-count.InFlight,
			count.total, text)
	}
}

// waveName names a wave: the first of a stage is its canary.
func (r Rollout) waveName(wave int32) string {
	if wave == 0 {
		return "canary"
	}
	for _, stage := range r.Remediation.Spec.Plan.Stages {
		if stage.FirstWave == wave {
			return "canary"
		}
	}
	return fmt.Sprintf("wave %d", wave)
}

// wave says how a wave stands.
func (r Rollout) wave(wave int32, c tally) (tone, string) {
	text := c.text()
	atWork := wave == r.Remediation.Status.Wave && !r.phase().Final()
	switch {
	case c.RevertConflict > 0, c.Reverted > 0 && !r.undone():
		return bad, text
	case atWork:
		return busy, strings.Trim(text+"; "+r.soak(), "; ")
	case c.Reverted > 0:
		return plain, text
	case c.Pending == c.total:
		return faint, "waits for its turn"
	case c.Skipped == c.total:
		return faint, text
	case c.Failed > 0 && c.Done == 0:
		return bad, text
	case c.Pending+c.InFlight > 0:
		return plain, text
	default:
		return good, text
	}
}

// text names what there is of each.
func (c tally) text() string {
	text := ""
	for _, part := range []struct {
		n    int32
		what string
	}{{c.Done, "done"}, {c.InFlight, "in flight"}, {c.Pending, "pending"}, {c.Skipped, "skipped"},
		{c.Failed, "failed"}, {c.Reverted, "reverted"}, {c.RevertConflict, "not to be undone"}} {
		if part.n == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", part.n, part.what)
	}
	return text
}

// soak says how long the wave at work has been verified.
func (r Rollout) soak() string {
	if r.Remediation.Status.HealthyTime == nil {
		return ""
	}
	return "verified for " + r.ago(r.Remediation.Status.HealthyTime.Time)
}

// each calls do for every target with its record; one that is missing is Pending.
func (r Rollout) each(do func(v1alpha1.Target, v1alpha1.TargetRecord)) {
	for _, slice := range r.Slices {
		for i, t := range slice.Targets {
			rec := v1alpha1.TargetRecord{State: v1alpha1.TargetPending}
			if i < len(slice.Records) {
				rec = slice.Records[i]
			}
			do(t, rec)
		}
	}
}

func (r Rollout) age(t *metav1.MicroTime) string {
	if t == nil {
		return r.ago(r.Remediation.CreationTimestamp.Time)
	}
	return r.ago(t.Time)
}
