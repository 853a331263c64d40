// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The bounds of limits and of metrics.
const (
	maxInFlight         = 100
	maxPerNamespace     = 10000
	maxWindows          = 16
	maxMetrics          = 10
	maxMetricName       = 63
	maxAnalysisInterval = time.Hour
)

// checkLimits takes no field as unset: each is set by being there.
func checkLimits(p *problems, s *v1alpha1.RemediationStrategySpec) {
	if v := s.MaxInFlight; v != nil {
		if most, err := parseShare(*v); err != nil {
			p.addErr("maxInFlight", err)
		} else if !most.percent {
			p.within("maxInFlight", v.IntVal, 1, maxInFlight)
		}
	}
	count := func(field string, value *int32, high int32) {
		if value != nil && (*value < 1 || *value > high) {
			p.add(field, "%d: must be from 1 to %d", *value, high)
		}
	}
	count("maxPerNamespace", s.MaxPerNamespace, maxPerNamespace)
	count("maxTargets", s.MaxTargets, v1alpha1.MaxTargets)
}

func checkWindows(p *problems, windows []v1alpha1.MaintenanceWindow) {
	p.atMost("windows", len(windows), maxWindows)
	for i, w := range windows {
		field := fmt.Sprintf("windows[%d].", i)
		p.addErr(field+"kind", checkWindowKind(w.Kind))
		_, err := readSchedule(w.Schedule)
		p.addErr(field+"schedule", err)
		p.addErr(field+"duration", checkWindowDuration(w.Duration.Duration))
		_, err = readZone(w.TimeZone)
		p.addErr(field+"timeZone", err)
	}
}

func checkAnalysis(p *problems, a *v1alpha1.AnalysisStrategy) {
	if a == nil {
		return
	}
	if len(a.Metrics) == 0 {
		p.add("analysis.metrics", "it is empty: name at least one metric, or remove analysis")
	}
	p.atMost("analysis.metrics", len(a.Metrics), maxMetrics)
	taken := map[string]int{}
	for i, m := range a.Metrics {
		field := fmt.Sprintf("analysis.metrics[%d].", i)
		if earlier, double := taken[m.Name]; double {
			p.add(field+"name", "%q is the name of metrics[%d] already: give another one", m.Name, earlier)
		} else if m.Name == "" || len(m.Name) > maxMetricName {
			p.add(field+"name", "%q: must have from 1 to %d characters", m.Name, maxMetricName)
		}
		taken[m.Name] = i
		checkMetric(p, field, m)
	}
}

func checkMetric(p *problems, field string, m v1alpha1.AnalysisMetric) {
	if m.Query == "" {
		p.add(field+"query", "it is missing: give an instant PromQL query")
	} else {
		p.addErr(field+"query", CheckQuery(m.Query))
	}
	if m.SuccessCondition == "" {
		p.add(field+"successCondition", "it is missing: give a CEL expression, such as sample <= baseline * 1.1")
	} else {
		p.addErr(field+"successCondition", CheckCondition(m.SuccessCondition))
	}
	p.lasts(field+"interval", m.Interval, time.Second, maxAnalysisInterval)
	p.within(field+"samples", m.Samples, 1, 100)
	p.within(field+"failureLimit", m.FailureLimit, 0, 100)
}
