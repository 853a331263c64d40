// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBackoffDoublesUpToAMinute(t *testing.T) {
	var got []time.Duration
	for attempts := range int32(8) {
		got = append(got, (&Client{}).Backoff(attempts))
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backoff: -want +got\n%s", diff)
	}
}
