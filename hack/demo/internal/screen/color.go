// SPDX-License-Identifier: Apache-2.0

package screen

// Bold and the others style text where colors are on.
func (s *Screen) Bold(text string) string { return s.style("1", text) }

// Dim is for what may be passed over.
func (s *Screen) Dim(text string) string { return s.style("2", text) }

// Red is for failure.
func (s *Screen) Red(text string) string { return s.style("31", text) }

// Green is for what holds.
func (s *Screen) Green(text string) string { return s.style("32", text) }

// Yellow is for what is under way.
func (s *Screen) Yellow(text string) string { return s.style("33", text) }

// Cyan is for commands.
func (s *Screen) Cyan(text string) string { return s.style("36", text) }

func (s *Screen) style(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
