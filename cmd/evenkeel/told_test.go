// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"
)

func TestAnErrorGivesNoCommands(t *testing.T) {
	got := told(errors.New("not everything could be read:\n\tp.yaml ##[error]a\n::error::b"))
	if want := "evenkeel: not everything could be read:\n\tp.yaml ## [error]a\n\"::error::b\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
