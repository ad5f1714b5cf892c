# awk -v modules=FOLDER -f examples.awk DOCUMENT... : the C++ examples of documents, as part of docs_test.cpp.
#
# An example with a class stands in a namespace inside that of the example before it, so it sees all before it in its
# document. One that includes plugin.hpp is a whole plugin: it is written to FOLDER/NAME.cpp besides. Any other example
# is statements, and becomes a test.
FNR == 1 {
  close_document()
  document = FILENAME
  sub(/.*docs\//, "docs/", document)
  name = document
  gsub(/[^a-z]/, "_", name)
  print "namespace " name " {\nusing namespace plimsoll::sdk;"
  open = 1
}
/^ *```cpp$/ {
  indent = index($0, "`") - 1
  begin = FNR
  text = file = ""
  class = ""
  next
}
begin && /^ *```$/ {
  print "namespace line_" begin " {\n#line " (begin + 1) " \"" document "\""
  ++open
  if (class) {
    printf "%s", text
  } else {
    print "TEST_F(Docs, " name "_line_" begin ") {\nconst auto run = [&]() -> Status {\n#line " (begin + 1) " \"" document "\""
    printf "%s", text
    print "return {};\n};\nEXPECT_TRUE(run().ok());\n}"
  }
  if (file ~ /plugin\.hpp/) printf "%s", file > (modules "/" tolower(class) ".cpp")
  begin = 0
  next
}
begin {
  line = substr($0, indent + 1)
  file = file line "\n"
  if (line ~ /^class / && !class) class = substr(line, 7, match(substr(line, 7) " ", /[^A-Za-z]/) - 1)
  text = text (line ~ /^#include/ ? "" : line) "\n"
}
function close_document() {
  while (open > 0) {
    print "}"
    --open
  }
}
END { close_document() }
