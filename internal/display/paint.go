// SPDX-License-Identifier: Apache-2.0

package display

// Bold sets a heading off.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Good marks what is as it should be, or what is added.
func (s Style) Good(text string) string { return s.paint(good, text) }

// Bad marks what is wrong, or what is taken away.
func (s Style) Bad(text string) string { return s.paint(bad, text) }

// Busy marks what wants attention.
func (s Style) Busy(text string) string { return s.paint(busy, text) }

// Faint sets back what matters less.
func (s Style) Faint(text string) string { return s.paint(faint, text) }
