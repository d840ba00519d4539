#include "discover/testing.h"

#include <gtest/gtest.h>

namespace xaas::discover {
namespace {

using testing::HasSubstr;

const std::string mit = R"(The MIT License

Copyright (c) 2024 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation
the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and
to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of
the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED.
)";

const std::string bsd = R"(Copyright (c) 2024 Somebody
Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:
1. Redistributions of source code must retain the above copyright notice.
2. Redistributions in binary form must reproduce the above copyright notice.
)";
const std::string third_clause =
    "3. Neither the name of Somebody nor the names of its contributors may be used to "
    "endorse or promote products derived from this software without specific prior "
    "written permission.\n";

std::string gnu(const std::string& name, const std::string& version) {
  return "  " + name + "\n   " + version + "\n\n Copyright (C) Free Software Foundation, Inc.\n";
}
const std::string gpl2 = gnu("GNU GENERAL PUBLIC LICENSE", "Version 2, June 1991");
const std::string gpl3 = gnu("GNU GENERAL PUBLIC LICENSE", "Version 3, 29 June 2007");
const std::string lgpl3 = gnu("GNU LESSER GENERAL PUBLIC LICENSE", "Version 3, 29 June 2007");

class LicenseTest : public TreeTest {
protected:
  License license() {
    write("CMakeLists.txt", "project(a)\n");
    return read().license.value_or(License{"absent", "", {}});
  }
  std::string expression() { return license().expression; }
};

TEST_F(LicenseTest, TextsOfLicenses) {
  EXPECT_EQ(expression(), "absent");
  write("LICENSE", mit);
  EXPECT_EQ(expression(), "MIT");
  EXPECT_EQ(license().place.file, "LICENSE");
  write("LICENSE", bsd);
  EXPECT_EQ(expression(), "BSD-2-Clause");
  write("LICENSE", bsd + third_clause);
  EXPECT_EQ(expression(), "BSD-3-Clause");
  write("LICENSE", "SPDX-License-Identifier: MIT OR Apache-2.0\n");
  EXPECT_EQ(expression(), "MIT OR Apache-2.0");
}

TEST_F(LicenseTest, WhatIsUnclearStaysOpen) {
  const auto why = [&] {
    const License found = license();
    EXPECT_EQ(found.expression, "");
    return found.reason;
  };
  std::string more = mit;
  for (int i = 0; i < 200; ++i)
    more += "Further conditions. ";
  write("LICENSE", more);
  EXPECT_THAT(why(), HasSubstr("LICENSE has the text of MIT, and more"));
  write("LICENSE", mit + "\nThe Software shall be used for Good, not Evil.\n");
  EXPECT_THAT(why(), HasSubstr("LICENSE is not the text of a license that is known here"));
  write("LICENSE", bsd + "All advertising materials mentioning features must display it.\n" + third_clause);
  EXPECT_THAT(why(), HasSubstr("is not the text"));
  write("LICENSE", mit);
  write("LICENSE.BSD", bsd);
  EXPECT_EQ(why(), "the tree has the texts of BSD-2-Clause and MIT");
}

TEST_F(LicenseTest, NoticesDecideOnLaterVersions) {
  write("COPYING", gpl2);
  EXPECT_EQ(expression(), "");
  EXPECT_THAT(license().reason, HasSubstr("GPL-2.0-only or GPL-2.0-or-later"));
  write("a.c", "/* GNU General Public License, version 2 of the License,\n   or (at your option) any later "
               "version. */\n");
  EXPECT_EQ(expression(), "GPL-2.0-or-later");
  write("b.c", "/* under the terms of the GNU General Public License version 2 as published by */\n");
  EXPECT_EQ(expression(), "");
  write("a.c", "// SPDX-License-Identifier: GPL-2.0-only\n");
  EXPECT_EQ(expression(), "GPL-2.0-only");
  write("COPYING", gpl3);
  write("COPYING.LESSER", lgpl3);
  EXPECT_EQ(expression(), "LGPL-3.0-only");
}

TEST_F(LicenseTest, WhatMesonStates) {
  const auto stated = [&](const std::string& license) {
    write("meson.build", "project('a', 'c', version: '3.1', license: '" + license + "')\n");
    return read();
  };
  EXPECT_EQ(stated("GPL-3.0-or-later").license->expression, "GPL-3.0-or-later");
  EXPECT_EQ(stated("MIT").version, "3.1");
  EXPECT_FALSE(stated("GPL3+").license);
  EXPECT_FALSE(stated("BSD").license);
}

TEST_F(LicenseTest, TheVersionOfConfigure) {
  const auto version = [&](const std::string& text) {
    write("configure.ac", text);
    return read().version;
  };
  EXPECT_EQ(
      version("m4_define([a_major], [2])\nm4_define([a_version], [a_major.7])\nAC_INIT([a], [a_version])\n"),
      "2.7");
  EXPECT_EQ(version("define([VER],[1.2])\nAC_INIT(a, VER)\n"), "1.2");
  EXPECT_EQ(version("AC_INIT(solve.f)\nAM_INIT_AUTOMAKE(solver, 1.3)\n"), "1.3");
  EXPECT_EQ(read().name, "solver");
  EXPECT_EQ(version("AC_INIT([a], [1.0])\nAM_INIT_AUTOMAKE([foreign])\n"), "1.0");
  write("VERSION", "3.4.5\n");
  EXPECT_EQ(version("AC_INIT([a], [m4_esyscmd_s([cat VERSION])])\n"), "3.4.5");
  EXPECT_EQ(version("AC_INIT([a], m4_esyscmd([tr -d '\\n' < VERSION]))\n"), "3.4.5");
  EXPECT_EQ(version("AC_INIT([a], m4_normalize(m4_include([VERSION])))\n"), "3.4.5");
  write("v.m4", "m4_define([MY_V], [9.9])");
  EXPECT_EQ(version("m4_include([v.m4])\nAC_INIT([a], [MY_V])\n"), "9.9");
  EXPECT_EQ(version("AC_INIT([a], m4_esyscmd([git describe]))\n"), "");
  EXPECT_LT(version("m4_define([x], [x x])\nAC_INIT([a], [x])\n").size(), 20'000u);
}

} // namespace
} // namespace xaas::discover
