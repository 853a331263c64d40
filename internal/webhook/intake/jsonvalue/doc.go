// SPDX-License-Identifier: Apache-2.0

// Package jsonvalue decodes JSON to the content of unstructured objects in one pass: what sigs.k8s.io/json, which the
// API server decodes with, makes of the same text, in less time. It errors where that does.
//
// Start at Decoder.Object.
package jsonvalue
