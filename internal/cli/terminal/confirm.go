// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// Confirm asks a person yes or no, and takes anything but a yes for a no. Where there is
// no person, because either side isn't a terminal, it doesn't ask, and says yes.
func Confirm(in io.Reader, out io.Writer, question string) (bool, error) {
	if !Asks(in, out) {
		return true, nil
	}
	return ask(in, out, question)
}

// Asks says whether Confirm has a person to ask: both sides are a terminal.
func Asks(in io.Reader, out io.Writer) bool { return isTerminal(in) && isTerminal(out) }

func ask(in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := fmt.Fprintf(out, "%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func isTerminal(stream any) bool {
	file, isFile := stream.(descriptor)
	return isFile && term.IsTerminal(int(file.Fd()))
}
