module evenkeel.dev/evenkeel/hack/runtests

go 1.26.0
