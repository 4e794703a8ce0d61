"""Programs in Java, C++, JavaScript and Go that print something, with what makes an edit of code go wrong."""

PROGRAMS = {
    "java": """import java.util.List;

public class Main {
    // adds up what it gets
    static int total = 0;

    static int sum(List<Integer> values) {
        int result = 0; /* from nothing */
        for (int value : values) {
            result += value; // "one" more
        }
        String note = "result // no comment";
        total = total + result;
        return result + note.length() - 20;
    }

    public static void main(String[] args) {
        int count = 3;
        int limit = count * 2;
        System.out.println(sum(List.of(1, 2, 3)) + " " + limit + " " + Main.total);
    }
}
""",
    "cpp": """#include <iostream>
#include <string>

struct Box {
    int width = 4;
};

int twice(int x) { return 2 * x; }

// adds up what it gets
int sum(int first, int last) {
    int result = 0; /* from
    nothing */
    for (int at = first; at <= last; ++at) {
        result += at; // one more
    }
    return result;
}

int main() {
    int count = 3;
    int limit = twice(count);
    Box box;
    std::string note = "result // no comment";
    auto size = note.size();
    std::cout << sum(1, count) << " " << limit << " " << size + box.width << "\\n";
}
""",
    "javascript": """// adds up what it gets
function sum(values) {
    let result = 0; /* from nothing */
    for (const value of values) {
        result += value // one more
    }
    return result
}

const count = 3;
const limit = count * 2;
let width = 4;
const box = { width, height: limit };
const key = "count // no comment";
const pattern = /\\/\\/ no comment/;
let shown = `${limit} ${key}`;
const area = (wide, high) => wide * high;
console.log(sum([1, 2, 3]), limit, box.width, area(box.width, box.height), shown, pattern.test("a"));
""",
    "go": """package main

import "fmt"

// sum adds up what it gets
func sum(values []int) int {
\tresult := 0 /* from nothing */
\tfor _, value := range values {
\t\tresult += value // one more
\t}
\treturn result
}

type box struct {
\twidth int
}

func main() {
\tcount := 3
\tvar limit = count * 2
\tnote := "count // no comment"
\tb := box{width: limit}
\tfmt.Println(sum([]int{1, 2, 3}), limit, b.width, len(note))
}
""",
}


def answer_of(marked, source):
    """Return an answer that holds a program."""
    return f"This does it:\n\n```{marked}\n{source}```\n\nThat is all there is to it."
