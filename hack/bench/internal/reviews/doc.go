// SPDX-License-Identifier: Apache-2.0

// Package reviews makes the AdmissionReviews that an API server sends of objects, and compares what two webhooks
// say of them. It judges nothing. Start at Of.
package reviews
