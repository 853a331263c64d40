// SPDX-License-Identifier: Apache-2.0

// Package reuse remembers in which inputs a policy has found nothing, without keeping them.
package reuse
