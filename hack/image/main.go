// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `Usage:
  image build --out FOLDER --name IMAGE --version VERSION --created SECONDS --revision COMMIT OS/ARCH=PROGRAM...
  image push FOLDER IMAGE:TAG
  image sbom PROGRAM VERSION >FILE`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("say what to do\n%s", usage)
	}
	command, args := args[0], args[1:]
	switch {
	case command == "build":
		return runBuild(args, out)
	case command == "push" && len(args) == 2:
		return push(ctx, args[0], args[1], out)
	case command == "sbom" && len(args) == 2:
		return writeBill(args[0], args[1], out)
	}
	return fmt.Errorf("%q with %d arguments isn't known\n%s", command, len(args), usage)
}

func runBuild(args []string, out io.Writer) error {
	var r release
	var folder string
	var created int64
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.StringVar(&folder, "out", "", "the folder that is recreated")
	flags.StringVar(&r.name, "name", "", "the image's name, with its registry, without a tag")
	flags.StringVar(&r.version, "version", "", "the version, which is the image's tag")
	flags.StringVar(&r.revision, "revision", "", "the commit that the programs were built from")
	flags.Int64Var(&created, "created", 0, "the time of all that is in the image, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if folder == "" || r.name == "" || r.version == "" || flags.NArg() == 0 {
		return fmt.Errorf("give --out, --name, --version and a program for each platform\n%s", usage)
	}
	r.created = time.Unix(created, 0).UTC()
	for _, arg := range flags.Args() {
		p, err := parseProgram(arg)
		if err != nil {
			return err
		}
		r.programs = append(r.programs, p)
	}
	return build(folder, &r, out)
}
