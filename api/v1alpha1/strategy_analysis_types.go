// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnalysisStrategy asks metrics whether a wave does harm. A metric counts as
// passed only when enough of its samples meet the condition; no data, NaN, more
// than one series or an error of the provider is inconclusive, never a pass.
type AnalysisStrategy struct {
	// metrics must all pass.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Metrics []AnalysisMetric `json:"metrics"`
}

// AnalysisMetric is one question to Prometheus with the condition of its answer.
type AnalysisMetric struct {
	// name tells the metric to people.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// query is an instant PromQL query that must answer with exactly one sample.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// successCondition is a CEL expression over the numbers sample and baseline
	// (the same query's answer before the wave's first write) that must be true,
	// for example: sample <= baseline * 1.1
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	SuccessCondition string `json:"successCondition"`
	// interval is the time between two samples. Default: 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(h|m|s|ms|µs))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="interval must be a duration from 1s to 1h, such as 30s, 5m or 1h30m"
	Interval metav1.Duration `json:"interval,omitempty,omitzero"`
	// samples is how many samples in a row must meet the condition. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Samples int32 `json:"samples,omitempty"`
	// failureLimit is how many samples may miss the condition before the wave
	// fails. Default: 0: the first that misses it fails the wave.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailureLimit int32 `json:"failureLimit,omitempty"`
}

// MetricRecord is what the samples of one metric have said of the current wave.
// It can't be recomputed, and is read back.
type MetricRecord struct {
	// name is the metric's.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// wave is the wave that the record speaks of.
	// +optional
	Wave int32 `json:"wave"`
	// baseline is the answer before the wave's first write, as a decimal number.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Baseline string `json:"baseline,omitempty"`
	// lastSample is the latest answer, as a decimal number.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LastSample string `json:"lastSample,omitempty"`
	// lastSampleTime is when the latest question was asked.
	// +optional
	LastSampleTime *metav1.MicroTime `json:"lastSampleTime,omitempty"`
	// passed counts the latest samples in a row that met the condition.
	// +optional
	Passed int32 `json:"passed"`
	// failed counts the samples that missed it.
	// +optional
	Failed int32 `json:"failed"`
	// verdict is Running, Passed, Failed or Inconclusive.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Verdict AnalysisVerdict `json:"verdict,omitempty"`
	// message explains the verdict.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// AnalysisVerdict is what metrics say of a wave.
type AnalysisVerdict string

const (
	// AnalysisRunning: more samples are needed.
	AnalysisRunning AnalysisVerdict = "Running"
	// AnalysisPassed: enough samples have met their condition.
	AnalysisPassed AnalysisVerdict = "Passed"
	// AnalysisFailed: too many samples have missed their condition.
	AnalysisFailed AnalysisVerdict = "Failed"
	// AnalysisInconclusive: the latest answer says nothing; never a pass.
	AnalysisInconclusive AnalysisVerdict = "Inconclusive"
)
