// harness.go -- runs cases one after the other and says how each went.
package main

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

type trouble struct{ text string }

var failed int

// fail ends the case.
func fail(format string, args ...any) {
	_, _, line, _ := runtime.Caller(2)
	panic(trouble{fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)})
}

func test(name string, run func()) {
	defer func() {
		what := recover()
		if what == nil {
			fmt.Println("ok", name)
			return
		}
		failed++
		fmt.Println("not ok", name)
		text := fmt.Sprint(what)
		if known, is := what.(trouble); is {
			text = known.text
		}
		fmt.Println("    " + strings.ReplaceAll(text, "\n", "\n    "))
	}()
	run()
}

// must is for what has to succeed.
func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}

// fails checks the status that an operation ends with.
func fails[T any](status int, substatus string) func(T, error) {
	return func(_ T, err error) {
		var answer *azcore.ResponseError
		if err == nil {
			fail("expected status %d, but it succeeded", status)
		}
		if !errors.As(err, &answer) || answer.StatusCode != status {
			fail("expected status %d: %v", status, err)
		}
		found := answer.RawResponse.Header.Get("x-ms-substatus")
		if substatus != "" && found != substatus {
			fail("sub-status %q, not %q", found, substatus)
		}
	}
}

func equal(found, expected any) {
	if !reflect.DeepEqual(found, expected) {
		fail("%#v is not %#v", found, expected)
	}
}
