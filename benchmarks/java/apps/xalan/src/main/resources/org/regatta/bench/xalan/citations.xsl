<?xml version="1.0" encoding="UTF-8"?>
<!-- Who cites whom: keys in both directions, chains of citations by recursion, sorting by numbers. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml" encoding="UTF-8" indent="no"/>
  <xsl:key name="article" match="article" use="@id"/>
  <xsl:key name="citing" match="article" use="cites/@ref"/>
  <xsl:key name="author" match="author" use="@id"/>

  <xsl:template match="/archive">
    <citations>
      <xsl:for-each select=".//article">
        <xsl:sort select="count(key('citing', @id))" data-type="number" order="descending"/>
        <xsl:sort select="@year" data-type="number"/>
        <xsl:sort select="substring(@id, 2)" data-type="number"/>
        <article id="{@id}" rank="{position()}" author="{key('author', @author)}">
          <xsl:variable name="citing" select="key('citing', @id)"/>
          <xsl:attribute name="cited"><xsl:value-of select="count($citing)"/></xsl:attribute>
          <xsl:attribute name="by-others">
            <xsl:value-of select="count($citing[@author != current()/@author])"/>
          </xsl:attribute>
          <xsl:for-each select="$citing">
            <xsl:sort select="title" lang="en"/>
            <by id="{@id}"><xsl:value-of select="title"/></by>
          </xsl:for-each>
          <chain>
            <xsl:call-template name="chain"><xsl:with-param name="article" select="."/></xsl:call-template>
          </chain>
        </article>
      </xsl:for-each>
    </citations>
  </xsl:template>

  <!-- The first citation of the first citation and so on, as deep as it goes. -->
  <xsl:template name="chain">
    <xsl:param name="article"/>
    <xsl:param name="depth" select="1"/>
    <xsl:value-of select="concat($depth, ':', $article/@id, ' ')"/>
    <xsl:if test="$article/cites">
      <xsl:call-template name="chain">
        <xsl:with-param name="article" select="key('article', $article/cites[1]/@ref)"/>
        <xsl:with-param name="depth" select="$depth + 1"/>
      </xsl:call-template>
    </xsl:if>
  </xsl:template>
</xsl:stylesheet>
