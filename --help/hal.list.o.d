--help/hal.list.o: hal/src/list.cpp \
 hal/include/freehca/hal/list.hpp \
 hal/include/freehca/hal/assert.hpp
