// Only here to own the precompiled headers of tests/CMakeLists.txt.
int main() {
  return 0;
}
