// victim: takes values by value only to look at them; the compiler wrote their copy constructor; flags: -std=c++17
#include <cstdio>
#include <string>
#include <vector>

struct Person {
    std::string name;
    std::string town;
};

__attribute__((noinline)) static size_t measure(Person person) { return person.name.size() + person.town[0]; }

__attribute__((noinline)) static size_t all(const std::vector<Person> &people) {
    size_t total = 0;
    for (const auto &person : people)
        total += measure(person); // here: clone-of-owned
    return total;
}

int main() {
    std::vector<Person> people(100, Person{std::string(40, 'x'), std::string(50, 'y')});
    size_t total = 0;
    for (int i = 0; i < 50; i++) total += all(people);
    std::printf("total %zu\n", total);
}
